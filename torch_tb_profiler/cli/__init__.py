"""The command ``torch-tb-profiler``. One module ``<command>_command`` per command.

``arguments`` declares the command line, ``tasks`` turns it into requests, ``sinks`` and ``output``
write the answers. A face: may import everything but ``plugin`` and ``api``. Nothing heavy is
imported before the arguments are parsed, so that ``--help`` and usage errors are immediate.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.cli.exits import (
    BAD_USAGE,
    BROKEN_PIPE_EXIT,
    BY_SIGNAL,
    DONE,
    INTERRUPTED,
    print_error,
)
from torch_tb_profiler.cli.interrupts import Interrupts, kill_self
from torch_tb_profiler.cli.supervision import out_of_memory, supervised
from torch_tb_profiler.loading.processes.address_space import (
    is_out_of_memory,
    library_settings,
    limit_own_threads,
)
from torch_tb_profiler.loading.processes.memory_release import retain_buffers
from torch_tb_profiler.loading.processes.resources import usable_cores


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (:mod:`torch_tb_profiler.cli.exits`).

    Args:
        argv: Arguments without the program's name; None takes the process's own.
    """
    interrupts = Interrupts()
    ended = None
    if argv is None:  # called as a program, not from Python code
        ended = None if _records(sys.argv[1:]) else supervised()
        interrupts.install()
    code = _run_to_exit_code(argv, interrupts) if ended is None else ended
    if code < 0 and argv is None:
        kill_self(-code)
    code = code if code >= 0 else BY_SIGNAL - code
    interrupts.mark_done(code)
    return code


def _run_to_exit_code(argv: Sequence[str] | None, interrupts: Interrupts) -> int:
    """Run one command and return its exit code, however it ends."""
    words = with_descending_sort(sys.argv[1:] if argv is None else argv)
    try:
        arguments = _parsed(words)
        code = _run(arguments.command, arguments, interrupts)
        sys.stdout.flush()
    except SystemExit as error:  # argparse: --help, --version, bad usage
        return error.code if isinstance(error.code, int) else DONE
    except BrokenPipeError:
        _discard_output()  # the reader has closed the pipe
        return BROKEN_PIPE_EXIT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:  # panics of native libraries do not derive from Exception
        if _records(words):
            raise
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            _discard_output()
            hint = "Free some space, or write the answers elsewhere with --output."
            print_error(f"The output cannot be written: {error.strerror}.", hint)
            return BAD_USAGE
        if not is_out_of_memory(error):
            raise
        return out_of_memory()
    return code


_NO_ROOM = frozenset(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO") if hasattr(errno, name)
)


def _discard_output() -> None:
    """Avoid a second error when Python flushes stdout at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _records(words: Sequence[str]) -> bool:
    """Whether the command runs a program of the user."""
    return words[:1] in (["record"], ["dlprof"])


def with_descending_sort(argv: Sequence[str]) -> list[str]:
    """``--sort -calls`` as ``--sort=-calls``: argparse takes the former for a missing value."""
    joined: list[str] = []
    if _records(argv):  # the rest belongs to the recorded program
        return list(argv)
    for word in argv:
        if joined and joined[-1] == "--sort" and word.startswith("-"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _parsed(words: Sequence[str]) -> Namespace:
    """The arguments. An optional QUERY may follow options, which argparse refuses."""
    parser = make_parser(words[0] if words else None)
    arguments, rest = parser.parse_known_args(words)
    is_query = len(rest) == 1 and not rest[0].startswith("-")
    if is_query and getattr(arguments, "query", "") is None:
        arguments.query = rest[0]
        return arguments
    return parser.parse_args(words) if rest else arguments


def _run(command: str, arguments: Namespace, interrupts: Interrupts) -> int:
    retain_buffers()
    limit_own_threads(usable_cores())
    # Objects created by imports stay until the end: do not scan them for garbage.
    gc.disable()
    with _library_settings(command):
        module = import_module(f"torch_tb_profiler.cli.{command}_command")
    gc.freeze()
    gc.enable()
    interrupts.interrupt_system_calls()
    code: int = module.run(arguments)
    return code


_WHEN_IMPORTED = {
    # Threads of numpy's BLAS, which nothing here uses, spin for a while on every other core.
    "OPENBLAS_NUM_THREADS": "1",
    # Memory that polars freed returns to the system after 0.1 s instead of 10: a twelfth of the
    # peak. A server, which is asked again and again, would take longer for it.
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:100,muzzy_decay_ms:0",
}
"""Settings of libraries that they read when they are imported; what a user sets goes first."""

_SERVERS = frozenset({"serve", "open", "mcp"})


@contextmanager
def _library_settings(command: str) -> Iterator[None]:
    """Import libraries with :data:`_WHEN_IMPORTED`. Programs started later see the variables as
    they were."""
    settings = dict(_WHEN_IMPORTED)
    if command in _SERVERS:
        settings.pop("_RJEM_MALLOC_CONF", None)
    settings |= library_settings(usable_cores())
    chosen = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name in chosen:
            del os.environ[name]
