"""The arguments of the command ``mcp``."""

from __future__ import annotations

import argparse

from torch_tb_profiler.cli.argument_types import host_name, port_number
from torch_tb_profiler.cli.reading_arguments import (
    add_cache,
    add_links,
    add_reading,
    add_workers,
)

DEFAULT_PORT = 6008
"""Next to 6007 of ``serve``."""


def add_mcp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command ``mcp``."""
    mcp = commands.add_parser(
        "mcp",
        help="answer agents over the Model Context Protocol",
        description="Serve tools with which an agent asks about the recordings in LOGDIR, over "
        "the Model Context Protocol: on stdin and stdout, or over HTTP. Recordings are only read, "
        "and only those in LOGDIR.",
    )
    mcp.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="LOGDIR",
        help="folders, traces or URLs (default: the current folder)",
    )
    mcp.add_argument("--http", action="store_true", help="serve over HTTP instead of stdin")
    group = mcp.add_argument_group("HTTP")
    group.add_argument(
        "--port",
        type=port_number,
        default=DEFAULT_PORT,
        help=f"port, 0 for a free one (default: {DEFAULT_PORT})",
    )
    group.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1, this machine only)",
    )
    group.add_argument(
        "--token",
        nargs="?",
        const="auto",
        metavar="TEXT",
        help="require the token TEXT from clients; 'auto' (or no TEXT) generates one "
        "(default: $TORCH_TB_PROFILER_TOKEN)",
    )
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        type=host_name,
        metavar="NAME",
        help="additional host name to answer to, e.g. of a reverse proxy; may be repeated",
    )
    add_cache(mcp)
    add_reading(mcp)
    add_links(mcp)
    add_workers(mcp)
