"""Samples of the NVIDIA GPUs visible to this process, through NVML.

CUDA is not touched. Metrics that a GPU or its driver does not support are queried only once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.samples.sample_log import CounterRates, Reading
from torch_tb_profiler.recorder.samples.visible_gpus import VARIABLE, VisibleGpu, visible_gpus

PERCENT, BYTES, BYTES_PER_S = "%", "bytes", "bytes/s"
MAX_FAILURES = 3
"""A query that fails this many times in a row is dropped."""

THROTTLE_REASONS = {
    "throttled by power": ("SwPowerCap", "HwPowerBrakeSlowdown"),
    "throttled by heat": ("SwThermalSlowdown", "HwThermalSlowdown"),
    "clocks limited by settings": (
        "ApplicationsClocksSetting", "DisplayClockSetting", "SyncBoost",
    ),
}  # fmt: skip
"""Metric → its bits ``nvmlClocksThrottleReason…``. 100 % while one of them is set."""
SLOWDOWN = "throttled by hardware"
"""Clocks halved by the hardware while neither heat nor the power brake is reported as the cause."""

ALL_LINKS = 0xFFFFFFFF
PCIE_FIELDS = {
    "PCIe sent": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES",
    "PCIe received": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES",
}
"""Byte counters. ``nvmlDeviceGetPcieThroughput`` is not used: every call takes 20 ms."""
NVLINK_FIELDS = {
    "NVLink sent": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "NVLink received": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
}
"""KiB counters over all links."""

COUNTER32_RANGE = 1 << 32
WRAPS_NS = 150_000_000
"""A 32-bit counter wraps in this time at 28 GB/s; over a longer interval its growth is
ambiguous."""

Query = Callable[[Any, int], Reading]


DRIVER_FILES = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvmap")
"""On Linux with a driver at least one of these exists (also in WSL and on Jetson)."""
NO_DRIVER = "This machine has no NVIDIA driver."


def may_have_driver() -> bool:
    """Whether there may be an NVIDIA driver; does not load NVML."""
    return sys.platform != "linux" or any(os.path.exists(path) for path in DRIVER_FILES)


class NoGpusError(Exception):
    """No GPU can be sampled; the text says why."""


class NvmlGpus:
    """The GPUs visible to this process."""

    def __init__(self, nvml: Any, report_missing: Callable[[str], None]) -> None:
        """Open the GPUs.

        Args:
            nvml: The module ``pynvml``.
            report_missing: Called with a sentence about what is not sampled.

        Raises:
            NoGpusError: there is no driver or no GPU.
        """
        self._nvml = nvml
        self._report_missing = report_missing
        try:
            nvml.nvmlInit()
            self._count = int(nvml.nvmlDeviceGetCount())
        except (nvml.NVMLError, OSError) as error:
            if getattr(error, "value", None) == nvml.NVML_ERROR_LIBRARY_NOT_FOUND:
                raise NoGpusError(NO_DRIVER) from error
            raise NoGpusError(f"The NVIDIA driver does not answer: {error}.") from error
        if not self._count:
            raise NoGpusError("This machine has no NVIDIA GPU.")
        self._visible_devices = os.environ.get(VARIABLE)
        self._gpus = self._open_gpus()

    def read(self) -> list[tuple[str, int, Reading]]:
        """Read all GPUs as (source, time, reading). A program may select its GPUs after its start,
        so ``CUDA_VISIBLE_DEVICES`` is checked every time."""
        if os.environ.get(VARIABLE) != self._visible_devices:
            self._visible_devices = os.environ.get(VARIABLE)
            self._gpus = self._open_gpus()
        return [(gpu.source, *gpu.read()) for gpu in self._gpus]

    def close(self) -> None:
        """Shut NVML down."""
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError:
            return

    def _open_gpus(self) -> list[NvmlGpu]:
        opened = []
        seen = visible_gpus(self._count)
        if not seen:
            self._report_missing(
                f"{VARIABLE}={self._visible_devices!r} leaves this process no GPU."
            )
        for each in seen:
            try:
                handle = self._handle(each)
                opened.append(
                    NvmlGpu(self._nvml, handle, f"GPU {each.number}", self._report_missing)
                )
            except self._nvml.NVMLError as error:  # noqa: PERF203
                self._report_missing(f"GPU {each.number} is not sampled: {error}.")
        self._warn_about_order([gpu.name for gpu in opened])
        return opened

    def _handle(self, gpu: VisibleGpu) -> Any:
        if gpu.uuid is None:
            return self._nvml.nvmlDeviceGetHandleByIndex(gpu.index)
        if gpu.uuid.startswith("MIG-"):
            return self._nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
        for index in range(self._count):
            handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
            if _text(self._nvml.nvmlDeviceGetUUID(handle)).startswith(gpu.uuid):
                return handle
        raise self._nvml.NVMLError(self._nvml.NVML_ERROR_NOT_FOUND)

    def _warn_about_order(self, names: list[str]) -> None:
        """Report that GPU numbers may differ: CUDA orders by speed, NVML by slot, which is only the
        same order for identical GPUs."""
        is_by_slot = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
        if len(set(names)) > 1 and not is_by_slot:
            self._report_missing(
                "The GPUs are not identical, so CUDA may number them differently from these "
                "samples. CUDA_DEVICE_ORDER=PCI_BUS_ID makes both numberings the same."
            )


class NvmlGpu:
    """One GPU and the queries it supports."""

    def __init__(
        self, nvml: Any, handle: Any, source: str, report_missing: Callable[[str], None]
    ) -> None:
        """Read only the name.

        Raises:
            NVMLError: the GPU does not respond.
        """
        self.source = source
        self.name = _text(nvml.nvmlDeviceGetName(handle))
        self._nvml = nvml
        self._handle = handle
        self._parent = self._parent_gpu(handle)
        self._report_missing = report_missing
        self._rates = CounterRates()
        self._last_count: dict[str, tuple[int, float]] = {}
        self._failures: dict[str, int] = {}
        self._queries: dict[str, Query] = {
            "utilization": self._utilization,
            "memory": self._memory,
            "power": self._power,
            "power limit": self._power_limit,
            "SM clock": partial(self._clock, "SM clock", nvml.NVML_CLOCK_SM),
            "memory clock": partial(self._clock, "memory clock", nvml.NVML_CLOCK_MEM),
            "temperature": self._temperature,
            "throttle reasons": self._throttling,
            "PCIe": partial(self._counters, PCIE_FIELDS, 1),
            "NVLink": partial(self._counters, NVLINK_FIELDS, 1024),
        }

    def read(self) -> tuple[int, Reading]:
        """Run all queries; the time is of :data:`clock.perf_ns`."""
        time_ns = clock.perf_ns()
        reading: Reading = {}
        dropped = []
        for what, query in list(self._queries.items()):
            try:
                reading |= self._run_query(query, time_ns)
                self._failures.pop(what, None)
            except self._nvml.NVMLError as error:  # noqa: PERF203
                if self._is_permanent(what, error):
                    del self._queries[what]
                    dropped.append(f"{what} ({error})")
        if dropped:
            self._report_missing(
                f"{self.source} ({self.name}) does not report: {', '.join(dropped)}."
            )
        return time_ns, reading

    def _run_query(self, query: Query, time_ns: int) -> Reading:
        """Query a MIG device; what it does not support is queried from the whole GPU."""
        try:
            return query(self._handle, time_ns)
        except self._nvml.NVMLError:
            if self._parent is None:
                raise
            return query(self._parent, time_ns)

    def _is_permanent(self, what: str, error: Any) -> bool:
        lasting = (
            self._nvml.NVML_ERROR_NOT_SUPPORTED,
            self._nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            self._nvml.NVML_ERROR_NO_PERMISSION,
            self._nvml.NVML_ERROR_GPU_IS_LOST,
        )
        self._failures[what] = self._failures.get(what, 0) + 1
        return error.value in lasting or self._failures[what] >= MAX_FAILURES

    def _parent_gpu(self, handle: Any) -> Any:
        try:
            if self._nvml.nvmlDeviceIsMigDeviceHandle(handle):
                return self._nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        except self._nvml.NVMLError:
            return None
        return None

    def _utilization(self, handle: Any, _time_ns: int) -> Reading:
        used = self._nvml.nvmlDeviceGetUtilizationRates(handle)
        return {
            "utilization": (PERCENT, used.gpu),
            "memory utilization": (PERCENT, used.memory),
        }

    def _memory(self, handle: Any, _time_ns: int) -> Reading:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
        share = 100 * memory.used / memory.total if memory.total else None
        return {"memory used": (BYTES, memory.used), "memory in use": (PERCENT, share)}

    def _power(self, handle: Any, _time_ns: int) -> Reading:
        return {"power": ("W", self._nvml.nvmlDeviceGetPowerUsage(handle) / 1000)}

    def _power_limit(self, handle: Any, _time_ns: int) -> Reading:
        return {"power limit": ("W", self._nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000)}

    def _clock(self, metric: str, kind: int, handle: Any, _time_ns: int) -> Reading:
        return {metric: ("MHz", self._nvml.nvmlDeviceGetClockInfo(handle, kind))}

    def _temperature(self, handle: Any, _time_ns: int) -> Reading:
        sensor = self._nvml.NVML_TEMPERATURE_GPU
        return {"temperature": ("°C", self._nvml.nvmlDeviceGetTemperature(handle, sensor))}

    def _throttling(self, handle: Any, _time_ns: int) -> Reading:
        bits = self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        reading = {metric: self._is_any(bits, names) for metric, names in THROTTLE_REASONS.items()}
        causes = [*THROTTLE_REASONS["throttled by power"], *THROTTLE_REASONS["throttled by heat"]]
        known = self._is_any(bits, [name for name in causes if name.startswith("Hw")])
        reading[SLOWDOWN] = self._is_any(bits, ["HwSlowdown"]) and not known
        return {metric: (PERCENT, 100.0 if is_set else 0.0) for metric, is_set in reading.items()}

    def _is_any(self, bits: int, names: Any) -> bool:
        prefix = "nvmlClocksThrottleReason"
        return any(bits & getattr(self._nvml, prefix + name, 0) for name in names)

    def _counters(self, fields: dict[str, str], unit: int, handle: Any, time_ns: int) -> Reading:
        """Counters of the driver as rates in bytes per second."""
        numbers = [getattr(self._nvml, name, None) for name in fields.values()]
        if None in numbers:
            raise self._nvml.NVMLError(self._nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        scope = ALL_LINKS if fields is NVLINK_FIELDS else 0
        values = self._nvml.nvmlDeviceGetFieldValues(handle, [(each, scope) for each in numbers])
        reading: Reading = {}
        for metric, value in zip(fields, values, strict=True):
            if value.nvmlReturn != self._nvml.NVML_SUCCESS:
                raise self._nvml.NVMLError(value.nvmlReturn)
            reading[metric] = (BYTES_PER_S, self._rate(metric, value, unit, time_ns))
        return reading

    def _rate(self, metric: str, value: Any, unit: int, time_ns: int) -> float | None:
        """Rate of a counter in bytes per second; 32-bit counters may wrap within a second."""
        is_short = value.valueType == self._nvml.NVML_VALUE_TYPE_UNSIGNED_INT
        count, last = self._counter_value(value), self._last_count.get(metric)
        self._last_count[metric] = (time_ns, count)
        if last is None or not is_short:
            return self._rates.per_second(metric, count * unit, time_ns)
        passed_ns = time_ns - last[0]
        if not 0 < passed_ns <= WRAPS_NS:
            return None
        return (count - last[1]) % COUNTER32_RANGE * unit * 1e9 / passed_ns

    def _counter_value(self, value: Any) -> float:
        """Value of a counter, read by its declared type (``nvmlValueType_t``)."""
        members = {
            self._nvml.NVML_VALUE_TYPE_DOUBLE: "dVal",
            self._nvml.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
            self._nvml.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
            self._nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
            self._nvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG: "sllVal",
        }
        return float(getattr(value.value, members.get(value.valueType, "ullVal")))


def _text(name: str | bytes) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name
