"""``torch-tb-profiler serve``: serves the pages without TensorBoard."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, print_error, print_warning
from torch_tb_profiler.cli.tasks import cache_of, print_failure, read_options
from torch_tb_profiler.loading.user_rules import RulesSource, find_rules
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.server.access import AUTOMATIC, TOKEN_VARIABLE, is_token, new_token
from torch_tb_profiler.server.serving import serve


def run(arguments: Namespace, announce: Callable[[str], None] | None = None) -> int:
    """Serve until interrupted.

    Args:
        arguments: The command line.
        announce: Receives the address and further messages once the server listens; None prints
            them.

    Returns:
        0 after an interrupt, 2 if the address or the token cannot be used, 3 if the path cannot be
        read.
    """
    token = _token(arguments.token)
    if token is not None and not is_token(token):
        print_error(
            "The token is empty or contains blanks, control or non-ASCII characters.",
            "Use letters and digits, or --token auto to generate one.",
        )
        return BAD_USAGE
    try:
        serve(
            arguments.path,
            port=arguments.port,
            host=arguments.host,
            cache=cache_of(arguments),
            workers=arguments.workers,
            token=token,
            options=read_options(arguments),
            follows_links=arguments.follow_links,
            allowed_names=arguments.allow_host,
            rules=_rules(arguments),
            announce=announce or _announce,
        )
    except LoadingError as error:
        return print_failure(error)
    except OSError as error:
        address = f"{arguments.host} port {arguments.port}"
        print_error(
            f"Cannot listen on {address}: {error.strerror or error}.",
            "Choose another one with --port (0 takes a free port) or --host.",
        )
        return BAD_USAGE
    return DONE


def _rules(arguments: Namespace) -> RulesSource:
    """The user's rules for kernels. A file that cannot be used is a warning here, and on the pages
    until it is mended: traces can be looked at without it."""
    source = find_rules(arguments.rules)
    problem = source.current().problem
    if problem is not None:
        print_warning(f"{problem} Kernels are shown without these rules until then.")
    return source


def _token(typed: str | None) -> str | None:
    """The token from the command line or the environment; generated if ``auto``."""
    token = typed if typed is not None else os.environ.get(TOKEN_VARIABLE) or None
    return new_token() if token == AUTOMATIC else token


def _announce(text: str) -> None:
    print(text, flush=True)
