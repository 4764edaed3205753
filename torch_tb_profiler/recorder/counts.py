"""What is asked of a system to make samples of: numbers by the names of metrics.

Two kinds of numbers: counters that only grow (seconds, bytes, events) and values of the moment.
Which is which, and in what unit the metric is: :data:`RATES` and :data:`VALUES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Counts = dict[str, float]

CPU_PARTS = ("CPU user", "CPU system", "CPU I/O wait", "CPU steal", "CPU idle")
"""Of the host; counters of which each is told as its share of what all of them grew by."""

RATES: dict[str, tuple[str, float]] = {
    "CPU": ("%", 100.0),
    "CPU user": ("%", 100.0),
    "CPU system": ("%", 100.0),
    "voluntary context switches": ("1/s", 1.0),
    "involuntary context switches": ("1/s", 1.0),
    "major page faults": ("1/s", 1.0),
    "context switches": ("1/s", 1.0),
    "read": ("bytes/s", 1.0),
    "written": ("bytes/s", 1.0),
    "storage read": ("bytes/s", 1.0),
    "storage written": ("bytes/s", 1.0),
    "disk read": ("bytes/s", 1.0),
    "disk written": ("bytes/s", 1.0),
    "swap read": ("bytes/s", 1.0),
    "swap written": ("bytes/s", 1.0),
    "network received": ("bytes/s", 1.0),
    "network sent": ("bytes/s", 1.0),
}
"""Counter → unit of its rate, and what a unit of the counter a second is in it."""

VALUES: dict[str, str] = {
    "runnable processes": "",
    "cores": "",
    "load": "",
    "memory used": "bytes",
    "memory available": "bytes",
    "memory in use": "%",
    "swap used": "bytes",
    "resident memory": "bytes",
    "swapped memory": "bytes",
    "threads": "",
}
"""Value of the moment → its unit."""


class GoneError(Exception):
    """The process is gone."""


class ProcessCounts(Protocol):
    """A process that is looked at again and again."""

    pid: int

    def read(self) -> Counts:
        """What it used so far, and has now.

        Raises:
            GoneError: it ended; its number may be that of another process.
        """

    def close(self) -> None:
        """It is not looked at any more."""


class System(Protocol):
    """What tells of the host and of processes.

    Attributes:
        host_cpu: The cores, all together, and what the scheduler did.
        host_memory: What changes slowly, or is dear to read.
        own: This process.
    """

    host_cpu: Callable[[], Counts]
    host_memory: Callable[[], Counts]
    own: Callable[[], Counts]

    def process(self, pid: int) -> ProcessCounts:
        """Another process.

        Raises:
            GoneError: there is none of that number.
        """
