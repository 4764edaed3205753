"""What is data, not code: names of kernels, operators, collectives, types and devices.

Each TOML file beside this module holds ordered rules or plain entries with their sources; the
Python module of the same name reads it once, checks it against a typed schema and answers
questions. Teaching the product a new kernel means adding a rule with an example, no code.
"""
