"""``torch-tb-profiler serve``: the pages without TensorBoard."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, tell_error
from torch_tb_profiler.cli.tasks import cache_of, options_of, tell_failure
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.server.access import AUTOMATIC, TOKEN_VARIABLE, is_token, new_token
from torch_tb_profiler.server.serving import serve


def run(arguments: Namespace, announce: Callable[[str], None] | None = None) -> int:
    """Serve until interrupted.

    Args:
        arguments: What was typed.
        announce: Gets the address when the server listens, and what to know beside; None prints
            it.

    Returns:
        0 after an interrupt, 2 when address or token cannot be used, 3 when there is nothing to
        read.
    """
    token = _token(arguments.token)
    if token is not None and not is_token(token):
        tell_error(
            "The token is empty or has blanks, control or foreign characters.",
            "Give one of letters and digits, or --token auto to have one made.",
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
            options=options_of(arguments),
            follows_links=arguments.follow_links,
            allowed_names=arguments.allow_host,
            announce=announce or _announce,
        )
    except LoadingError as error:
        return tell_failure(error)
    except OSError as error:
        address = f"{arguments.host} port {arguments.port}"
        tell_error(
            f"Cannot listen on {address}: {error.strerror or error}.",
            "Choose another with --port (0 takes a free one) or --host.",
        )
        return BAD_USAGE
    return DONE


def _token(typed: str | None) -> str | None:
    """The token that was typed or stands in the environment; one is made where that is asked."""
    token = typed if typed is not None else os.environ.get(TOKEN_VARIABLE) or None
    return new_token() if token == AUTOMATIC else token


def _announce(text: str) -> None:
    print(text, flush=True)
