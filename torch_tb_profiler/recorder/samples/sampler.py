"""Takes samples of the host, of this process, of its loader workers and of its GPUs.

The session's ticker thread calls :meth:`Sampler.sample`. Its CPU time is measured and written as
cost; it is not subtracted from any sample.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.samples.counters import (
    ProcessCounters,
    ProcessGoneError,
    SystemCounters,
)
from torch_tb_profiler.recorder.samples.sample_log import Reading, SampleLog

if TYPE_CHECKING:
    from torch_tb_profiler.recorder.samples.gpu_samples import NvmlGpus
    from torch_tb_profiler.recorder.samples.host_samples import CounterMetrics, Probe
    from torch_tb_profiler.recorder.session import Session

HOST, PROCESS = "host", "process"
INSTALL = 'pip install "torch-tb-profiler[record]"'
SLOW_NS = 500_000_000
"""Interval for sources that change slowly or are expensive to read."""
IDLE_NS = 800_000_000
"""Interval while the journal is not open yet; most processes never open it. Below one second, which
readers would treat as a gap."""
LEAST_NS = 10_000_000
"""Minimum interval before the last sample: rates over a shorter one would be noise."""
GPU_SHARE = 20
"""GPU queries take at most one twentieth of the time: the pause after each is this multiple of
it."""
STOP_S = 1.0
"""How long ``flush`` and ``stop`` wait for a running sample: a driver may hang."""


class Sampler:
    """The part of a session that takes samples."""

    def __init__(self, session: Session) -> None:
        """Create without reading anything."""
        self._session = session
        self._lock = threading.Lock()
        self._log = SampleLog()
        self._fast: list[tuple[str, Probe]] = []
        self._slow: list[tuple[str, Probe]] = []
        self._workers: dict[str, tuple[ProcessCounters, CounterMetrics]] = {}
        self._system: SystemCounters | None = None
        self._gpus: NvmlGpus | None = None
        self._is_open = self._is_stopped = self._has_opened_gpus = False
        self._last_ns = self._slow_ns = self._gpu_ns = -IDLE_NS
        self._cpu_ns = self._calls = 0

    def start(self) -> None:
        """Does nothing in the program's thread: the first sample imports and opens the sources."""
        if not self._session.options.sample_every_ms:
            self._is_stopped = True
            for what in ("host_samples", "gpu_samples"):
                self._session.report_missing(what, "--sample-every 0 takes no samples.")

    def sample(self) -> None:
        """Read all sources once; less often while the journal is not open."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._is_stopped and self._is_due():
                self._measure_cost(self._sample)
        finally:
            self._lock.release()

    def flush(self) -> None:
        """Write the collected samples."""
        if self._lock.acquire(timeout=STOP_S):
            try:
                self._measure_cost(self._write)
            finally:
                self._lock.release()

    def stop(self, reason: str) -> None:  # noqa: ARG002 - interface of parts
        """Take a last sample, so that totals cover the whole run, and write the sampling cost."""
        if self._is_stopped or not self._lock.acquire(timeout=STOP_S):
            return
        try:
            self._is_stopped = True
            if self._is_open and clock.perf_ns() - self._last_ns >= LEAST_NS:
                self._measure_cost(self._sample)
            self._measure_cost(self._write)
            if self._gpus is not None:
                self._gpus.close()
        finally:
            self._lock.release()
        cost = {"kind": "cost", "what": "sampler", "cpu_ns": self._cpu_ns, "calls": self._calls}
        self._session.journal.write(cost)

    def _measure_cost(self, call: Callable[[], None]) -> None:
        begin_ns = time.thread_time_ns()
        try:
            call()
        finally:
            self._cpu_ns += time.thread_time_ns() - begin_ns

    def _is_due(self) -> bool:
        if self._session.journal.is_open:
            return True
        return clock.perf_ns() - self._last_ns >= IDLE_NS

    def _sample(self) -> None:
        if not self._is_open:
            self._open()
        self._last_ns = clock.perf_ns()
        self._calls += 1
        self._read(self._fast)
        if self._system is not None:
            self._sample_workers(self._system)
        if self._last_ns - self._slow_ns >= SLOW_NS or self._is_stopped:
            self._slow_ns = self._last_ns
            self._read(self._slow)
        if self._session.journal.is_open and self._last_ns >= self._gpu_ns:
            self._sample_gpus()

    def _read(self, probes: list[tuple[str, Probe]]) -> None:
        """Read the probes; one that fails is dropped without affecting the others."""
        for source, probe in list(probes):
            try:
                self._add(source, *probe.read())
            except Exception as error:  # noqa: PERF203
                probes.remove((source, probe))
                text = f"{source}: {type(probe).__name__} failed: {type(error).__name__}: {error}"
                self._session.report_missing("host_samples", text)

    def _add(self, source: str, time_ns: int, reading: Reading) -> None:
        self._log.add(source, clock.to_unix(time_ns), reading)

    def _write(self) -> None:
        for block in self._log.pop_blocks():
            self._session.journal.write(block)

    def _open(self) -> None:
        from torch_tb_profiler.recorder.samples import cpu_limits, host_samples  # noqa: PLC0415

        self._is_open = True
        try:
            system = self._system = host_samples.this_system()
        except Exception as error:  # a broken psutil counts as a missing one
            text = f"The host and processes cannot be read ({error}): {INSTALL} brings psutil."
            self._session.report_missing("host_samples", text)
            return
        own, memory = (
            host_samples.CounterMetrics(system.own),
            host_samples.CounterMetrics(system.host_memory),
        )
        self._fast = [(HOST, host_samples.HostCpuShares(system.host_cpu)), (PROCESS, own)]
        self._slow = [(HOST, memory), (PROCESS, cpu_limits.CgroupLimits())]

    def _sample_workers(self, system: SystemCounters) -> None:
        """Sample the current loader workers; one that has ended is skipped."""
        from torch_tb_profiler.recorder.samples.host_samples import CounterMetrics  # noqa: PLC0415

        pids = self._session.workers()
        for key in self._workers.keys() - pids.keys():
            self._workers.pop(key)[0].close()
        for key, pid in pids.items():
            try:
                if key not in self._workers or self._workers[key][0].pid != pid:
                    process = system.process(pid)
                    self._workers[key] = (process, CounterMetrics(process.read))
                self._add(key, *self._workers[key][1].read())
            except ProcessGoneError:  # noqa: PERF203 - each may have ended
                self._workers.pop(key, None)

    def _sample_gpus(self) -> None:
        if not self._has_opened_gpus:
            self._has_opened_gpus = True
            self._gpus = self._open_gpus()
        if self._gpus is None:
            return
        begin_ns = clock.perf_ns()
        for source, time_ns, reading in self._gpus.read():
            self._add(source, time_ns, reading)
        took_ns = clock.perf_ns() - begin_ns
        self._gpu_ns = begin_ns + GPU_SHARE * took_ns

    def _open_gpus(self) -> NvmlGpus | None:
        from torch_tb_profiler.recorder.samples import gpu_samples  # noqa: PLC0415

        if not gpu_samples.may_have_driver():
            self._report_missing_gpu(gpu_samples.NO_DRIVER)
            return None
        try:
            nvml = import_module("pynvml")
        except Exception as error:
            text = f"nvidia-ml-py, which queries the driver, cannot be used ({error}): {INSTALL}."
            self._report_missing_gpu(text)
            return None
        try:
            return gpu_samples.NvmlGpus(nvml, self._report_missing_gpu)
        except gpu_samples.NoGpusError as error:
            self._report_missing_gpu(str(error))
            return None

    def _report_missing_gpu(self, reason: str) -> None:
        self._session.report_missing("gpu_samples", reason)
