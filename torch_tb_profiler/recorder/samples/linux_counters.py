"""Counters of the host and of processes on Linux, from ``/proc`` (see ``proc(5)``)."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable
from functools import partial

from torch_tb_profiler.recorder.samples.counters import Counts, ProcessGoneError

KIB = 1024
VIRTUAL_LINKS = (b"lo", b"veth", b"docker", b"br-", b"virbr")
"""Prefixes of virtual links: traffic over them stays in the machine or is counted on another
link."""
STATE, USER, SYSTEM, RESIDENT = 0, 11, 12, 21
"""Field numbers in ``/proc/<pid>/stat`` after the name, which may contain any characters."""
CPU_CLOCK = 2
"""The scheduler's CPU-time clock of a process (``clock_getcpuclockid(3)``)."""

FIRST_BYTES = 8192
"""First read of a file of ``/proc``; doubled until the whole file fits."""


class LinuxSystem:
    """:class:`SystemCounters` of Linux."""

    def __init__(self) -> None:
        """Open the files that are always read.

        Raises:
            OSError: there is no ``/proc``.
        """
        self.host_cpu: Callable[[], Counts] = partial(_host_cpu, ProcFile("/proc/stat"))
        memory, paging = ProcFile("/proc/meminfo"), _optional("/proc/vmstat")
        links = _optional("/proc/net/dev")
        self.host_memory: Callable[[], Counts] = partial(_host_memory, memory, paging, links)
        status, io = ProcFile("/proc/self/status"), _optional("/proc/self/io")
        self.own: Callable[[], Counts] = partial(_own, status, io)

    def process(self, pid: int) -> LinuxProcess:
        """See :meth:`SystemCounters.process`."""
        return LinuxProcess(pid)


def _optional(path: str) -> ProcFile | None:
    try:
        return ProcFile(path)
    except OSError:
        return None


def _host_cpu(file: ProcFile) -> Counts:
    """One read of ``/proc/stat``, which is slow on machines with many cores."""
    text = file.read()
    words = text[: text.index(b"\n")].split()
    user, nice, system, idle, io_wait, irq, soft_irq, steal = map(int, words[1:9])
    counts: Counts = {
        "CPU user": user + nice,
        "CPU system": system + irq + soft_irq,
        "CPU I/O wait": io_wait,
        "CPU steal": steal,
        "CPU idle": idle,
    }
    named = (("runnable processes", b"procs_running"), ("context switches", b"ctxt"))
    return counts | _numbers(text, named, 1)


def _host_memory(memory: ProcFile, paging: ProcFile | None, links: ProcFile | None) -> Counts:
    text = memory.read()
    total, available = (number_after(text, key) for key in (b"MemTotal:", b"MemAvailable:"))
    counts: Counts = {}
    if total and available is not None:
        used = total - available
        counts["memory used"], counts["memory available"] = used * KIB, available * KIB
        counts["memory in use"] = 100 * used / total
    swap, free = (number_after(text, key) for key in (b"SwapTotal:", b"SwapFree:"))
    if swap and free is not None:
        counts["swap used"] = (swap - free) * KIB
    counts["load"], counts["cores"] = os.getloadavg()[0], os.cpu_count() or 1
    if paging is not None:
        text = paging.read()
        disk = (("disk read", b"pgpgin"), ("disk written", b"pgpgout"))
        counts |= _numbers(text, disk, KIB)
        if swap:
            pages = (("swap read", b"pswpin"), ("swap written", b"pswpout"))
            counts |= _numbers(text, pages, resource.getpagesize())
    return counts if links is None else counts | _network(links.read())


def _network(text: bytes) -> Counts:
    received = sent = 0
    for line in text.splitlines()[2:]:
        name, _, rest = line.strip().partition(b":")
        if not name.startswith(VIRTUAL_LINKS):
            words = rest.split()
            received, sent = received + int(words[0]), sent + int(words[8])
    return {"network received": received, "network sent": sent}


def _own(status: ProcFile, io: ProcFile | None) -> Counts:
    """``getrusage`` is finer than clock ticks and counts context switches of all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    counts: Counts = {
        "CPU": used.ru_utime + used.ru_stime,
        "CPU user": used.ru_utime,
        "CPU system": used.ru_stime,
        "voluntary context switches": used.ru_nvcsw,
        "involuntary context switches": used.ru_nivcsw,
        "major page faults": used.ru_majflt,
    }
    text = status.read()
    memory = (("resident memory", b"VmRSS:"), ("swapped memory", b"VmSwap:"))
    counts |= _numbers(text, memory, KIB) | _numbers(text, (("threads", b"Threads:"),), 1)
    return counts | _io(io)


def _io(file: ProcFile | None) -> Counts:
    if file is None:
        return {}
    try:
        text = file.read()
    except PermissionError:
        return {}
    named = (
        ("read", b"rchar:"),
        ("written", b"wchar:"),
        ("storage read", b"read_bytes:"),
        ("storage written", b"write_bytes:"),
    )
    return _numbers(text, named, 1)


def _numbers(text: bytes, named: tuple[tuple[str, bytes], ...], unit: int) -> Counts:
    counts = {metric: number_after(text, key) for metric, key in named}
    return {metric: count * unit for metric, count in counts.items() if count is not None}


class LinuxProcess:
    """Another process."""

    def __init__(self, pid: int) -> None:
        """See :meth:`SystemCounters.process`."""
        self.pid = pid
        try:
            self._stat = ProcFile(f"/proc/{pid}/stat")
        except OSError as error:
            raise ProcessGoneError from error
        self._io = _optional(f"/proc/{pid}/io")
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._page_bytes = resource.getpagesize()

    def read(self) -> Counts:
        """See :meth:`ProcessCounters.read`."""
        try:
            text = self._stat.read()
            words = text[text.rindex(b")") + 2 :].split()
            if words[STATE] in (b"Z", b"X"):
                raise ProcessGoneError
            counts: Counts = {
                "CPU": self._cpu_s(words),
                "resident memory": int(words[RESIDENT]) * self._page_bytes,
            }
            return counts | _io(self._io)
        except (OSError, ValueError, IndexError) as error:
            raise ProcessGoneError from error

    def _cpu_s(self, words: list[bytes]) -> float:
        """CPU time by the process's clock, because ticks are as coarse as 10 ms."""
        try:
            return time.clock_gettime((~self.pid << 3) | CPU_CLOCK)
        except OSError:
            return (int(words[USER]) + int(words[SYSTEM])) * self._tick_s

    def close(self) -> None:
        """See :meth:`ProcessCounters.close`."""
        for file in (self._stat, self._io):
            if file is not None:
                file.close()


class ProcFile:
    """An open file of ``/proc``. Rereading it takes a tenth of the time of opening it.

    The file belongs to its process: once that has ended it cannot be read, even if another process
    got the same pid.
    """

    def __init__(self, path: str) -> None:
        """Open the file.

        Raises:
            OSError: it does not exist or must not be read.
        """
        self._bytes = FIRST_BYTES
        self._path = path
        self._file: int | None = os.open(path, os.O_RDONLY)
        self._identity = self._now()

    def read(self) -> bytes:
        """Read the current content.

        Raises:
            OSError: its process has ended, or is another one and the program has closed the file.
        """
        if self._file is None:
            raise ProcessLookupError
        if not self._is_open():
            self._reopen()
        while True:
            text = os.pread(self._file, self._bytes, 0)
            if len(text) < self._bytes:
                return text
            self._bytes *= 2

    def close(self) -> None:
        """Close the file, unless the program has closed the descriptor: the number may then belong
        to a file of the program."""
        with contextlib.suppress(OSError):
            if self._file is not None and self._is_open():
                os.close(self._file)
        self._file = None

    def __del__(self) -> None:
        """See :meth:`close`."""
        if hasattr(self, "_identity"):
            self.close()

    def _is_open(self) -> bool:
        """Whether the descriptor is still this file: daemons close all descriptors."""
        try:
            return self._now() == self._identity
        except OSError:
            return False

    def _reopen(self) -> None:
        self._file = None
        if self._path.split("/")[2].isdigit():  # another process may have got its pid
            raise ProcessLookupError
        self._file = os.open(self._path, os.O_RDONLY)
        self._identity = self._now()

    def _now(self) -> tuple[int, int]:
        stat = os.fstat(self._file if self._file is not None else -1)
        return stat.st_dev, stat.st_ino


def number_after(text: bytes, key: bytes) -> int | None:
    """The integer after a key at the start of a line, such as ``b"VmRSS:"``; None without one."""
    at = 0 if text.startswith(key) else text.find(b"\n" + key)
    if at < 0:
        return None
    begin = text.find(key, at) + len(key)
    words = text[begin : begin + 40].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None
