"""``torch-tb-profiler serve``: the pages without TensorBoard."""

from __future__ import annotations

from argparse import Namespace

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, tell_error
from torch_tb_profiler.cli.tasks import cache_of, exit_code_of
from torch_tb_profiler.loading.errors import LoadingError
from torch_tb_profiler.server.serving import serve


def run(arguments: Namespace) -> int:
    """Serve until interrupted.

    Returns:
        0 after an interrupt, 2 when the address cannot be used, 3 when there is nothing to read.
    """
    try:
        serve(
            arguments.path,
            port=arguments.port,
            host=arguments.host,
            cache=cache_of(arguments),
            workers=arguments.workers,
            announce=_announce,
        )
    except LoadingError as error:
        tell_error(error.problem.message, error.problem.hint)
        return exit_code_of(error)
    except OSError as error:
        address = f"{arguments.host} port {arguments.port}"
        tell_error(
            f"Cannot listen on {address}: {error.strerror or error}.",
            "Choose another with --port (0 takes a free one) or --host.",
        )
        return BAD_USAGE
    return DONE


def _announce(text: str) -> None:
    print(text, flush=True)
