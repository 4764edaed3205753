"""A command within a limit of its address space ends with a reason, whatever happens in it.

Where memory cannot be reserved, native libraries end the process by a signal. So the command runs
in a child process then, and this one, which imports nothing large, waits for it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from torch_tb_profiler.cli.exits import INPUT_UNREADABLE, print_error
from torch_tb_profiler.loading.processes.address_space import limit_bytes

LEAST_BYTES = 250_000_000
"""Less than the libraries take before they read anything; some of them import wrongly then."""

_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_CRASHES = frozenset(
    getattr(signal, name)
    for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGKILL")
    if hasattr(signal, name)
)
_PR_SET_PDEATHSIG = 1


def supervised() -> int | None:
    """Continue in a child process if the address space is limited.

    Returns:
        In the process that was called, if the command ran in a child: its exit code, negative if a
        signal ended it that means no lack of memory. None where the command is to run: in the
        child, or here.
    """
    limit = limit_bytes()
    if limit is None or not hasattr(os, "fork"):
        return None
    if limit < LEAST_BYTES:
        return out_of_memory()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:
        return out_of_memory()
    if child == 0:
        _end_with(parent)
        return None
    for name in _FORWARDED:
        with suppress(AttributeError, OSError, ValueError):
            signal.signal(getattr(signal, name), lambda number, _frame: _forward(child, number))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return out_of_memory() if -code in _CRASHES else code


def out_of_memory() -> int:
    """Say that the memory does not suffice; the exit code."""
    limit = limit_bytes()
    which, raise_it = "", ""
    if limit is not None:
        which = f" The address space of this process is limited to {limit / 1e6:,.0f} MB."
        raise_it = "Raise the limit (ulimit -v), or "
    hint = f"{raise_it}read a part of the trace: --only-us START:END or --only-steps N:M."
    print_error(f"There is not enough memory.{which}", hint[0].upper() + hint[1:])
    return INPUT_UNREADABLE


def _forward(child: int, number: int) -> None:
    with suppress(OSError):
        os.kill(child, number)


def _end_with(parent: int) -> None:
    """Let the system end this process when the one that waits for it ends."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - start-up

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(INPUT_UNREADABLE)
