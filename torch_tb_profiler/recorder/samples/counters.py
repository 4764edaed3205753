"""What is read from a system to compute samples: numbers by metric name.

There are counters that only grow (seconds, bytes, events) and current values (gauges).
:data:`RATES` and :data:`VALUES` list both with the units of their metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Counts = dict[str, float]

CPU_PARTS = ("CPU user", "CPU system", "CPU I/O wait", "CPU steal", "CPU idle")
"""CPU time counters of the host. The metric of each is its share of the growth of all of them."""

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
"""Counter → (unit of its rate, factor from counter units per second to that unit)."""

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
"""Gauge → its unit."""


class ProcessGoneError(Exception):
    """The process has ended."""


class ProcessCounters(Protocol):
    """Counters of another process, read repeatedly."""

    pid: int

    def read(self) -> Counts:
        """Read the counters.

        Raises:
            ProcessGoneError: the process has ended; its pid may belong to another process now.
        """

    def close(self) -> None:
        """Release resources; the process is not read any more."""


class SystemCounters(Protocol):
    """Counters of the host and of processes.

    Attributes:
        host_cpu: Reads CPU time of all cores and scheduler counters.
        host_memory: Reads what changes slowly or is expensive to read.
        own: Reads this process.
    """

    host_cpu: Callable[[], Counts]
    host_memory: Callable[[], Counts]
    own: Callable[[], Counts]

    def process(self, pid: int) -> ProcessCounters:
        """Counters of another process.

        Raises:
            ProcessGoneError: there is no such process.
        """
