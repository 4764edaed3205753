"""Counters of the host and of processes on systems other than Linux, through psutil."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder.samples.counters import Counts, ProcessGoneError

LOOPBACKS = ("lo", "Loopback")


class PsutilSystem:
    """:class:`SystemCounters` from psutil."""

    def __init__(self, psutil: Any) -> None:
        """Create with the module ``psutil``."""
        self._psutil = psutil
        self._process = psutil.Process()

    def host_cpu(self) -> Counts:
        """See :attr:`SystemCounters.host_cpu`."""
        times = self._psutil.cpu_times()
        return {
            "CPU user": times.user + getattr(times, "nice", 0.0),
            "CPU system": times.system,
            "CPU idle": times.idle,
            "context switches": self._psutil.cpu_stats().ctx_switches,
        }

    def host_memory(self) -> Counts:
        """See :attr:`SystemCounters.host_memory`."""
        memory = self._psutil.virtual_memory()
        counts: Counts = {
            "memory used": memory.total - memory.available,
            "memory available": memory.available,
            "memory in use": memory.percent,
            "cores": os.cpu_count() or 1,
        }
        for source in (self._load, self._disks, self._network):
            counts |= self._if_supported(source)
        return counts

    def own(self) -> Counts:
        """See :attr:`SystemCounters.own`."""
        with self._process.oneshot():
            times = self._process.cpu_times()
            counts: Counts = {
                "CPU": times.user + times.system,
                "CPU user": times.user,
                "CPU system": times.system,
                "resident memory": self._process.memory_info().rss,
            }
            for source in (self._switches, self._threads):
                counts |= self._if_supported(source)
            return counts | _io(self._process, self._psutil)

    def process(self, pid: int) -> PsutilProcess:
        """See :meth:`SystemCounters.process`."""
        return PsutilProcess(self._psutil, pid)

    def _if_supported(self, source: Callable[[], Counts]) -> Counts:
        """Counters from a source; empty where the system or the permissions do not allow it."""
        try:
            return source()
        except (AttributeError, NotImplementedError, OSError, RuntimeError, self._psutil.Error):
            return {}

    def _load(self) -> Counts:
        return {"load": os.getloadavg()[0]}

    def _disks(self) -> Counts:
        total = self._psutil.disk_io_counters(nowrap=False)
        return {"disk read": total.read_bytes, "disk written": total.write_bytes}

    def _network(self) -> Counts:
        links = self._psutil.net_io_counters(pernic=True, nowrap=False)
        own = [link for name, link in links.items() if not name.startswith(LOOPBACKS)]
        return {
            "network received": sum(link.bytes_recv for link in own),
            "network sent": sum(link.bytes_sent for link in own),
        }

    def _switches(self) -> Counts:
        switches = self._process.num_ctx_switches()
        return {
            "voluntary context switches": switches.voluntary,
            "involuntary context switches": switches.involuntary,
        }

    def _threads(self) -> Counts:
        return {"threads": self._process.num_threads()}


def _io(process: Any, psutil: Any) -> Counts:
    """Bytes read and written by system calls; psutil does not separate storage traffic."""
    with contextlib.suppress(AttributeError, NotImplementedError, psutil.AccessDenied):
        io = process.io_counters()
        return {"read": io.read_bytes, "written": io.write_bytes}
    return {}


class PsutilProcess:
    """Another process."""

    def __init__(self, psutil: Any, pid: int) -> None:
        """See :meth:`SystemCounters.process`."""
        self.pid = pid
        self._psutil = psutil
        try:
            self._process = psutil.Process(pid)
        except psutil.Error as error:
            raise ProcessGoneError from error

    def read(self) -> Counts:
        """See :meth:`ProcessCounters.read`."""
        if not self._process.is_running():
            raise ProcessGoneError
        try:
            with self._process.oneshot():
                times = self._process.cpu_times()
                counts: Counts = {
                    "CPU": times.user + times.system,
                    "resident memory": self._process.memory_info().rss,
                }
                return counts | _io(self._process, self._psutil)
        except self._psutil.Error as error:
            raise ProcessGoneError from error

    def close(self) -> None:
        """Nothing to release."""
