"""Whether an agent reaches exact answers through the tools of the MCP server, and at what cost.

    python -m bench.agent            # every question: calls, bytes, right or wrong
    python -m bench.agent truths     # the answers, computed again from the files

``questions.toml`` has the questions with their answers and a walk of tool calls for each.
"""
