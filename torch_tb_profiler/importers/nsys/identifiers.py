"""Numbers that pack a host, a process and a thread: ``globalTid`` and ``globalPid``."""

from __future__ import annotations

from torch_tb_profiler.trace.columns import Int64

_BITS = 24
_LOW = (1 << _BITS) - 1


def global_pid(global_tid: Int64) -> Int64:
    """The process of each thread: the same number with thread id 0."""
    return global_tid & ~_LOW


def pid_of(number: int) -> int:
    """The process id in a ``globalTid`` or ``globalPid``."""
    return number >> _BITS & _LOW


def tid_of(number: int) -> int:
    """The thread id in a ``globalTid``."""
    return number & _LOW


def host_of(number: int) -> int:
    """The machine (virtual or real) in a ``globalTid`` or ``globalPid``: the bits above the
    process."""
    return number >> 2 * _BITS


def main_thread(global_pids: Int64) -> Int64:
    """The main thread of each process: its thread id equals the process id."""
    return global_pids | (global_pids >> _BITS & _LOW)
