"""Samples of the host, of this process, of those that load its data, and of its GPUs.

The ticker's thread of the session calls :meth:`Sampler.sample`; what that costs is measured and
written, and taken off nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.counts import GoneError, ProcessCounts, System
from torch_tb_profiler.recorder.sample_log import Reading, SampleLog

if TYPE_CHECKING:
    from torch_tb_profiler.recorder.gpu_samples import Gpus
    from torch_tb_profiler.recorder.host_samples import Metrics, Probe
    from torch_tb_profiler.recorder.session import Session

HOST, PROCESS = "host", "process"
INSTALL = 'pip install "torch-tb-profiler[record]"'
SLOW_NS = 500_000_000
"""Between two looks at what changes slowly or is dear to read."""
IDLE_NS = 800_000_000
"""Between two samples of a process that did nothing worth a file yet: most never will. Less than a
second, which readers would take for a gap."""
LEAST_NS = 10_000_000
"""A last sample sooner after the one before would divide by next to nothing."""
GPU_SHARE = 20
"""The driver is asked so seldom that its answers take less than a twentieth of the time."""
STOP_S = 1.0
"""How long the end of a program waits for a sample under way: a driver may be stuck."""


class Sampler:
    """The part of a session that samples."""

    def __init__(self, session: Session) -> None:
        """Read nothing yet."""
        self._session = session
        self._lock = threading.Lock()
        self._log = SampleLog()
        self._fast: list[tuple[str, Probe]] = []
        self._slow: list[tuple[str, Probe]] = []
        self._workers: dict[str, tuple[ProcessCounts, Metrics]] = {}
        self._system: System | None = None
        self._gpus: Gpus | None = None
        self._is_open = self._is_stopped = self._knows_gpus = False
        self._last_ns = self._slow_ns = self._gpu_ns = -IDLE_NS
        self._cpu_ns = self._calls = 0

    def start(self) -> None:
        """Nothing is loaded in the thread of the program: the first sample does that."""
        if not self._session.options.sample_every_ms:
            self._is_stopped = True
            for what in ("host_samples", "gpu_samples"):
                self._session.miss(what, "--sample-every 0 takes no samples.")

    def sample(self) -> None:
        """Read all once; less often where the process has done nothing worth a file."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._is_stopped and self._is_due():
                self._measured(self._sample)
        finally:
            self._lock.release()

    def flush(self) -> None:
        """Write what was sampled."""
        if self._lock.acquire(timeout=STOP_S):
            try:
                self._measured(self._write)
            finally:
                self._lock.release()

    def stop(self, reason: str) -> None:  # noqa: ARG002 - as parts are told
        """Sample a last time, so that sums over the run are whole, and tell what it all cost."""
        if self._is_stopped or not self._lock.acquire(timeout=STOP_S):
            return
        try:
            self._is_stopped = True
            if self._is_open and clock.perf_ns() - self._last_ns >= LEAST_NS:
                self._measured(self._sample)
            self._measured(self._write)
            if self._gpus is not None:
                self._gpus.close()
        finally:
            self._lock.release()
        cost = {"kind": "cost", "what": "sampler", "cpu_ns": self._cpu_ns, "calls": self._calls}
        self._session.journal.write(cost)

    def _measured(self, call: Callable[[], None]) -> None:
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
        """Read each; one that fails is not read again, and costs no other."""
        for source, probe in list(probes):
            try:
                self._keep(source, *probe.read())
            except Exception as error:  # noqa: PERF203
                probes.remove((source, probe))
                text = f"{source}: {type(probe).__name__} failed: {type(error).__name__}: {error}"
                self._session.miss("host_samples", text)

    def _keep(self, source: str, time_ns: int, reading: Reading) -> None:
        self._log.add(source, clock.to_unix(time_ns), reading)

    def _write(self) -> None:
        for block in self._log.take():
            self._session.journal.write(block)

    def _open(self) -> None:
        from torch_tb_profiler.recorder import cpu_limits, host_samples  # noqa: PLC0415

        self._is_open = True
        try:
            system = self._system = host_samples.this_system()
        except Exception as error:  # a broken one is as good as none
            text = f"The host and processes cannot be read ({error}): {INSTALL} brings psutil."
            self._session.miss("host_samples", text)
            return
        own, memory = host_samples.Metrics(system.own), host_samples.Metrics(system.host_memory)
        self._fast = [(HOST, host_samples.HostCpu(system.host_cpu)), (PROCESS, own)]
        self._slow = [(HOST, memory), (PROCESS, cpu_limits.Limits())]

    def _sample_workers(self, system: System) -> None:
        """Those that load data now; one that died is left out until there is another."""
        from torch_tb_profiler.recorder.host_samples import Metrics  # noqa: PLC0415

        pids = self._session.workers()
        for key in self._workers.keys() - pids.keys():
            self._workers.pop(key)[0].close()
        for key, pid in pids.items():
            try:
                if key not in self._workers or self._workers[key][0].pid != pid:
                    process = system.process(pid)
                    self._workers[key] = (process, Metrics(process.read))
                self._keep(key, *self._workers[key][1].read())
            except GoneError:  # noqa: PERF203 - each may be gone
                self._workers.pop(key, None)

    def _sample_gpus(self) -> None:
        if not self._knows_gpus:
            self._knows_gpus = True
            self._gpus = self._opened_gpus()
        if self._gpus is None:
            return
        begin_ns = clock.perf_ns()
        for source, time_ns, reading in self._gpus.read():
            self._keep(source, time_ns, reading)
        took_ns = clock.perf_ns() - begin_ns
        self._gpu_ns = begin_ns + GPU_SHARE * took_ns

    def _opened_gpus(self) -> Gpus | None:
        from torch_tb_profiler.recorder import gpu_samples  # noqa: PLC0415

        if not gpu_samples.may_have_driver():
            self._miss_gpu(gpu_samples.NO_DRIVER)
            return None
        try:
            nvml = import_module("pynvml")
        except Exception as error:
            text = f"nvidia-ml-py, which asks the driver, cannot be used ({error}): {INSTALL}."
            self._miss_gpu(text)
            return None
        try:
            return gpu_samples.Gpus(nvml, self._miss_gpu)
        except gpu_samples.NoGpusError as error:
            self._miss_gpu(str(error))
            return None

    def _miss_gpu(self, reason: str) -> None:
        self._session.miss("gpu_samples", reason)
