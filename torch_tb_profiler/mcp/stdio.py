"""The server over stdin and stdout, as programs start it for themselves."""

from __future__ import annotations

from functools import partial

import anyio
from mcp.server.stdio import stdio_server

from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.server import make_server


def serve_stdio(context: ToolContext) -> None:
    """Serve until stdin ends. Nothing else may be written to stdout meanwhile."""
    anyio.run(partial(_serve, context))


async def _serve(context: ToolContext) -> None:
    server = make_server(context)
    async with stdio_server() as (requests, answers):
        await server.run(requests, answers, server.create_initialization_options())
