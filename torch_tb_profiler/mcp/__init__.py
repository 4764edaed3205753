"""The MCP server: tools with which an agent asks about recordings (``torch-tb-profiler mcp``).

A face beside ``cli``: each tool of ``tools`` is a function from a context (the recordings) and
checked arguments to the text of an answer; ``server`` registers them with the SDK, ``stdio`` and
``http`` are its transports. May import everything but ``plugin``, ``cli`` and ``api``. Only
``server``, ``stdio`` and ``http`` import the SDK, which is the extra ``[mcp]``.
"""
