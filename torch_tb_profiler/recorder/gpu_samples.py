"""What the driver of NVIDIA tells of the GPUs that this process sees, through NVML.

Nothing here touches CUDA. What a GPU or its driver does not tell is asked for once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.sample_log import Rates, Reading
from torch_tb_profiler.recorder.visible_gpus import VARIABLE, VisibleGpu, visible_gpus

PERCENT, BYTES, BYTES_PER_S = "%", "bytes", "bytes/s"
MAX_FAILURES = 3
"""In a row; then it is not asked for any more."""

THROTTLE_REASONS = {
    "throttled by power": ("SwPowerCap", "HwPowerBrakeSlowdown"),
    "throttled by heat": ("SwThermalSlowdown", "HwThermalSlowdown"),
    "clocks limited by settings": (
        "ApplicationsClocksSetting", "DisplayClockSetting", "SyncBoost",
    ),
}  # fmt: skip
"""Metric → the bits ``nvmlClocksThrottleReason…`` that say so. 100 % while one of them is set."""
SLOWDOWN = "throttled by hardware"
"""The hardware halves its clocks, and neither heat nor its power brake is told as the cause."""

ALL_LINKS = 0xFFFFFFFF
PCIE_FIELDS = {
    "PCIe sent": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES",
    "PCIe received": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES",
}
"""Counters of bytes. ``nvmlDeviceGetPcieThroughput`` is not asked: it takes 20 ms at every call."""
NVLINK_FIELDS = {
    "NVLink sent": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "NVLink received": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
}
"""Counters of KiB, of all links together."""

SHORT = 1 << 32
WRAPS_NS = 150_000_000
"""A counter of 32 bits wraps in this time at 28 GB/s: of a longer interval it tells nothing."""

Told = dict[str, tuple[str, float | None]]
Question = Callable[[Any, int], Told]


DRIVER_FILES = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/nvmap")
"""One of them is there where Linux has a driver: also inside Windows, and on Jetson."""
NO_DRIVER = "This machine has no driver of NVIDIA."


def may_have_driver() -> bool:
    """Whether there is anything to ask; told without loading the library that asks."""
    return sys.platform != "linux" or any(os.path.exists(path) for path in DRIVER_FILES)


class NoGpusError(Exception):
    """There are no GPUs to sample; the text says why."""


class Gpus:
    """The GPUs of this process."""

    def __init__(self, nvml: Any, miss: Callable[[str], None]) -> None:
        """Open them.

        Args:
            nvml: The module ``pynvml``.
            miss: Told what is not sampled.

        Raises:
            NoGpusError: there is no driver, or no GPU.
        """
        self._nvml = nvml
        self._miss = miss
        try:
            nvml.nvmlInit()
            self._count = int(nvml.nvmlDeviceGetCount())
        except (nvml.NVMLError, OSError) as error:
            if getattr(error, "value", None) == nvml.NVML_ERROR_LIBRARY_NOT_FOUND:
                raise NoGpusError(NO_DRIVER) from error
            raise NoGpusError(f"The NVIDIA driver does not answer: {error}.") from error
        if not self._count:
            raise NoGpusError("This machine has no NVIDIA GPU.")
        self._seen = os.environ.get(VARIABLE)
        self._gpus = self._opened()

    def read(self) -> list[tuple[str, int, Reading]]:
        """Source, time and what was told, per GPU; a program may choose its GPUs after its
        start."""
        if os.environ.get(VARIABLE) != self._seen:
            self._seen = os.environ.get(VARIABLE)
            self._gpus = self._opened()
        return [(gpu.source, *gpu.read()) for gpu in self._gpus]

    def close(self) -> None:
        """Leave the driver."""
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError:
            return

    def _opened(self) -> list[Gpu]:
        opened = []
        seen = visible_gpus(self._count)
        if not seen:
            self._miss(f"{VARIABLE}={self._seen!r} leaves this process no GPU.")
        for each in seen:
            try:
                handle = self._handle(each)
                opened.append(Gpu(self._nvml, handle, f"GPU {each.number}", self._miss))
            except self._nvml.NVMLError as error:  # noqa: PERF203
                self._miss(f"GPU {each.number} is not sampled: {error}.")
        self._tell_of_order([gpu.name for gpu in opened])
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

    def _tell_of_order(self, names: list[str]) -> None:
        """CUDA puts the fastest first, the driver counts by slot: alike only of equal ones."""
        is_by_slot = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
        if len(set(names)) > 1 and not is_by_slot:
            self._miss(
                "The GPUs differ, so CUDA may count them in another order than these samples: "
                "CUDA_DEVICE_ORDER=PCI_BUS_ID makes both alike."
            )


class Gpu:
    """One GPU, and what it turned out to tell."""

    def __init__(self, nvml: Any, handle: Any, source: str, miss: Callable[[str], None]) -> None:
        """Ask nothing yet but its name.

        Raises:
            NVMLError: it does not answer.
        """
        self.source = source
        self.name = _text(nvml.nvmlDeviceGetName(handle))
        self._nvml = nvml
        self._handle = handle
        self._card = self._whole_card(handle)
        self._miss = miss
        self._rates = Rates()
        self._last_count: dict[str, tuple[int, float]] = {}
        self._failures: dict[str, int] = {}
        self._questions: dict[str, Question] = {
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
        """When it was asked, on the clock of :data:`clock.perf_ns`, and what it told."""
        time_ns = clock.perf_ns()
        told: Reading = {}
        dropped = []
        for what, question in list(self._questions.items()):
            try:
                told |= self._ask(question, time_ns)
                self._failures.pop(what, None)
            except self._nvml.NVMLError as error:  # noqa: PERF203
                if self._is_given_up(what, error):
                    del self._questions[what]
                    dropped.append(f"{what} ({error})")
        if dropped:
            self._miss(f"{self.source} ({self.name}) does not tell: {', '.join(dropped)}.")
        return time_ns, told

    def _ask(self, question: Question, time_ns: int) -> Told:
        """What a slice of a card does not tell, the card does."""
        try:
            return question(self._handle, time_ns)
        except self._nvml.NVMLError:
            if self._card is None:
                raise
            return question(self._card, time_ns)

    def _is_given_up(self, what: str, error: Any) -> bool:
        lasting = (
            self._nvml.NVML_ERROR_NOT_SUPPORTED,
            self._nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            self._nvml.NVML_ERROR_NO_PERMISSION,
            self._nvml.NVML_ERROR_GPU_IS_LOST,
        )
        self._failures[what] = self._failures.get(what, 0) + 1
        return error.value in lasting or self._failures[what] >= MAX_FAILURES

    def _whole_card(self, handle: Any) -> Any:
        try:
            if self._nvml.nvmlDeviceIsMigDeviceHandle(handle):
                return self._nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        except self._nvml.NVMLError:
            return None
        return None

    def _utilization(self, handle: Any, _time_ns: int) -> Told:
        used = self._nvml.nvmlDeviceGetUtilizationRates(handle)
        return {
            "utilization": (PERCENT, used.gpu),
            "memory utilization": (PERCENT, used.memory),
        }

    def _memory(self, handle: Any, _time_ns: int) -> Told:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
        share = 100 * memory.used / memory.total if memory.total else None
        return {"memory used": (BYTES, memory.used), "memory in use": (PERCENT, share)}

    def _power(self, handle: Any, _time_ns: int) -> Told:
        return {"power": ("W", self._nvml.nvmlDeviceGetPowerUsage(handle) / 1000)}

    def _power_limit(self, handle: Any, _time_ns: int) -> Told:
        return {"power limit": ("W", self._nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000)}

    def _clock(self, metric: str, kind: int, handle: Any, _time_ns: int) -> Told:
        return {metric: ("MHz", self._nvml.nvmlDeviceGetClockInfo(handle, kind))}

    def _temperature(self, handle: Any, _time_ns: int) -> Told:
        sensor = self._nvml.NVML_TEMPERATURE_GPU
        return {"temperature": ("°C", self._nvml.nvmlDeviceGetTemperature(handle, sensor))}

    def _throttling(self, handle: Any, _time_ns: int) -> Told:
        bits = self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        told = {metric: self._is_any(bits, names) for metric, names in THROTTLE_REASONS.items()}
        causes = [*THROTTLE_REASONS["throttled by power"], *THROTTLE_REASONS["throttled by heat"]]
        known = self._is_any(bits, [name for name in causes if name.startswith("Hw")])
        told[SLOWDOWN] = self._is_any(bits, ["HwSlowdown"]) and not known
        return {metric: (PERCENT, 100.0 if is_set else 0.0) for metric, is_set in told.items()}

    def _is_any(self, bits: int, names: Any) -> bool:
        prefix = "nvmlClocksThrottleReason"
        return any(bits & getattr(self._nvml, prefix + name, 0) for name in names)

    def _counters(self, fields: dict[str, str], unit: int, handle: Any, time_ns: int) -> Told:
        """Counters of the driver as bytes a second."""
        numbers = [getattr(self._nvml, name, None) for name in fields.values()]
        if None in numbers:
            raise self._nvml.NVMLError(self._nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        scope = ALL_LINKS if fields is NVLINK_FIELDS else 0
        values = self._nvml.nvmlDeviceGetFieldValues(handle, [(each, scope) for each in numbers])
        told: Told = {}
        for metric, value in zip(fields, values, strict=True):
            if value.nvmlReturn != self._nvml.NVML_SUCCESS:
                raise self._nvml.NVMLError(value.nvmlReturn)
            told[metric] = (BYTES_PER_S, self._rate(metric, value, unit, time_ns))
        return told

    def _rate(self, metric: str, value: Any, unit: int, time_ns: int) -> float | None:
        """Bytes a second of a counter, which may be so short that it wraps within a second."""
        is_short = value.valueType == self._nvml.NVML_VALUE_TYPE_UNSIGNED_INT
        count, last = self._counted(value), self._last_count.get(metric)
        self._last_count[metric] = (time_ns, count)
        if last is None or not is_short:
            return self._rates.per_second(metric, count * unit, time_ns)
        passed_ns = time_ns - last[0]
        if not 0 < passed_ns <= WRAPS_NS:
            return None
        return (count - last[1]) % SHORT * unit * 1e9 / passed_ns

    def _counted(self, value: Any) -> float:
        """A counter in the type that the driver says it has (``nvmlValueType_t``)."""
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
