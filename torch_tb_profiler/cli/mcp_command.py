"""``torch-tb-profiler mcp``: answers agents over the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib.util import find_spec

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, print_error, print_warning
from torch_tb_profiler.cli.tasks import cache_of, print_failure, read_options
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import find_rules
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.requests.errors import LoadingError, OpenError
from torch_tb_profiler.server.access import AUTOMATIC, TOKEN_VARIABLE, is_token, new_token
from torch_tb_profiler.storage.discovery import is_folder
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import file_state, open_location

EXTRA_HINT = "pip install 'torch-tb-profiler[mcp]'"


def run(arguments: Namespace) -> int:
    """Serve until stdin ends or Ctrl-C.

    Returns:
        0 then, 2 if the SDK is missing or the address or token cannot be used, 3 if a path cannot
        be read.
    """
    if find_spec("mcp") is None:
        print_error("The MCP server needs the MCP SDK, which is not installed.", EXTRA_HINT)
        return BAD_USAGE
    token = _token(arguments)
    if token is not None and not is_token(token):
        print_error(
            "The token is empty or contains blanks, control or non-ASCII characters.",
            "Use letters and digits, or --token auto to generate one.",
        )
        return BAD_USAGE
    try:
        context = _context(arguments)
    except LoadingError as error:
        return print_failure(error)
    try:
        return _serve(context, arguments, token)
    finally:
        context.catalog.store.close()


def _serve(context: ToolContext, arguments: Namespace, token: str | None) -> int:
    if not arguments.http:
        from torch_tb_profiler.mcp.stdio import serve_stdio  # noqa: PLC0415 - needs the extra

        serve_stdio(context)
        return DONE
    from torch_tb_profiler.mcp.http import serve_http  # noqa: PLC0415 - needs the extra

    try:
        serve_http(
            context,
            host=arguments.host,
            port=arguments.port,
            token=token,
            allowed_names=arguments.allow_host,
            announce=_announce,
        )
    except OSError as error:
        address = f"{arguments.host} port {arguments.port}"
        print_error(
            f"Cannot listen on {address}: {error.strerror or error}.",
            "Choose another one with --port (0 takes a free port) or --host.",
        )
        return BAD_USAGE
    return DONE


def _context(arguments: Namespace) -> ToolContext:
    """The recordings in the log directories.

    Raises:
        OpenError: one of them does not exist or cannot be reached.
    """
    try:
        for path in arguments.paths:
            location = open_location(path)
            if not is_folder(location):
                file_state(location)
    except StorageError as error:
        raise OpenError.of(error) from error
    rules = find_rules(arguments.rules)
    problem = rules.current().problem
    if problem is not None:
        print_warning(f"{problem} Kernels are shown without these rules until then.")
    cache = cache_of(arguments)
    parser = Parser(arguments.workers, parses_in_process=False)
    store = TraceStore(cache=cache, parser=parser, rules=rules)
    options = read_options(arguments)
    roots = [
        TraceRoot(path, options=options, follows_links=arguments.follow_links)
        for path in arguments.paths
    ]
    return ToolContext(Catalog(roots, cache=cache, store=store), cache)


def _token(arguments: Namespace) -> str | None:
    """The token from the command line or the environment; generated if ``auto``."""
    if not arguments.http:
        return None
    typed = arguments.token
    token = typed if typed is not None else os.environ.get(TOKEN_VARIABLE) or None
    return new_token() if token == AUTOMATIC else token


def _announce(text: str) -> None:
    print(text, file=sys.stdout, flush=True)
