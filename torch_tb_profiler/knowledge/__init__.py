"""Knowledge as data: names of kernels, operators, collectives and devices; texts of findings.

Each TOML file of this folder holds ordered rules or plain entries with their sources; the Python
module of the same name reads it once, validates it against a typed schema, and has the functions
that look things up. To support a new kernel, add a rule with an example; no code is needed.
"""
