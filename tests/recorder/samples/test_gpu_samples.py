"""GPU samples from a fake driver with the constants and errors of the real library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torch_tb_profiler.recorder import clock as recorder_clock
from torch_tb_profiler.recorder.samples import gpu_samples
from torch_tb_profiler.recorder.samples.gpu_samples import NoGpusError, NvmlGpus
from torch_tb_profiler.recorder.samples.sample_log import Reading
from torch_tb_profiler.recorder.samples.visible_gpus import VARIABLE, VisibleGpu, visible_gpus

pynvml = pytest.importorskip("pynvml")

SECOND_NS = 10**9


class Driver:
    """A driver with some GPUs. ``refused`` are functions that it lacks, ``of_cards`` those that a
    MIG device lacks."""

    def __init__(
        self, *names: str, refused: tuple[str, ...] = (), of_cards: tuple[str, ...] = ()
    ) -> None:
        self.names = names
        self.refused = refused
        self.of_cards = of_cards
        self.throttling = 0
        self.counted: dict[int, int] = {}
        self.value_type = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        self.requested: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvmlDevice") and name not in ("nvmlInit", "nvmlShutdown"):
            return getattr(pynvml, name)
        return lambda *arguments: self._call(name, *arguments)

    def _call(self, name: str, *arguments: Any) -> Any:
        self.requested.append((name, *arguments))
        if name in self.refused or (name in self.of_cards and arguments[0] == "mig"):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        answers: dict[str, Callable[..., Any]] = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: len(self.names),
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetHandleByUUID": lambda _uuid: "mig",
            "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}{handle}aa-0",
            "nvmlDeviceGetName": lambda handle: self.names[0 if handle == "mig" else handle],
            "nvmlDeviceIsMigDeviceHandle": lambda handle: handle == "mig",
            "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda _handle: 0,
            "nvmlDeviceGetUtilizationRates": lambda _handle: SimpleNamespace(gpu=70, memory=30),
            "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(
                used=25, total=50 if handle == "mig" else 100
            ),
            "nvmlDeviceGetPowerUsage": lambda _handle: 250_500,
            "nvmlDeviceGetEnforcedPowerLimit": lambda _handle: 400_000,
            "nvmlDeviceGetClockInfo": lambda _handle, kind: 1000 + kind,
            "nvmlDeviceGetTemperature": lambda _handle, _sensor: 65,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _handle: self.throttling,
            "nvmlDeviceGetFieldValues": self._fields,
        }
        return answers[name](*arguments)

    def _fields(self, _handle: Any, fields: list[tuple[int, int]]) -> list[Any]:
        return [
            SimpleNamespace(
                nvmlReturn=pynvml.NVML_SUCCESS,
                valueType=self.value_type,
                value=SimpleNamespace(
                    ullVal=self.counted.get(field, 0), uiVal=self.counted.get(field, 0)
                ),
            )
            for field, _scope in fields
        ]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, "LOCAL_RANK", "LOCAL_WORLD_SIZE", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    created = SimpleNamespace(now=0)
    monkeypatch.setattr(recorder_clock, "perf_ns", lambda: created.now)
    return created


def read(gpus: NvmlGpus) -> dict[str, Reading]:
    return {source: reading for source, _, reading in gpus.read()}


def test_all_metrics_and_units(clock: SimpleNamespace) -> None:
    driver, missed = Driver("A100"), list[str]()
    gpus = NvmlGpus(driver, missed.append)
    read(gpus)
    clock.now = SECOND_NS
    driver.counted = {
        pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES: 5_000,
        pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX: 7,
    }
    (result,) = read(gpus).values()
    assert result == {
        "utilization": ("%", 70),
        "memory utilization": ("%", 30),
        "memory used": ("bytes", 25),
        "memory in use": ("%", 25),
        "power": ("W", 250.5),
        "power limit": ("W", 400),
        "SM clock": ("MHz", 1000 + pynvml.NVML_CLOCK_SM),
        "memory clock": ("MHz", 1000 + pynvml.NVML_CLOCK_MEM),
        "temperature": ("°C", 65),
        "throttled by power": ("%", 0),
        "throttled by heat": ("%", 0),
        "clocks limited by settings": ("%", 0),
        "throttled by hardware": ("%", 0),
        "PCIe sent": ("bytes/s", 5_000),
        "PCIe received": ("bytes/s", 0),
        "NVLink sent": ("bytes/s", 0),
        "NVLink received": ("bytes/s", 7 * 1024),
    }
    assert not missed


@pytest.mark.parametrize(
    ("bits", "metrics"),
    [
        (("GpuIdle",), set()),
        (("SwPowerCap",), {"throttled by power"}),
        (("HwSlowdown", "HwThermalSlowdown"), {"throttled by heat"}),
        (("HwSlowdown", "HwPowerBrakeSlowdown", "SwThermalSlowdown"),
         {"throttled by power", "throttled by heat"}),
        (("HwSlowdown",), {"throttled by hardware"}),
        (("ApplicationsClocksSetting",), {"clocks limited by settings"}),
    ],
)  # fmt: skip
def test_throttle_reasons_are_separate(bits: tuple[str, ...], metrics: set[str]) -> None:
    driver = Driver("A100")
    for bit in bits:
        driver.throttling |= getattr(pynvml, f"nvmlClocksThrottleReason{bit}")
    (result,) = read(NvmlGpus(driver, print)).values()
    limiting = {metric for metric in result if "throttled" in metric or "limited" in metric}
    assert {metric for metric in limiting if result[metric][1] == 100} == metrics


def test_unsupported_queries_run_once_and_are_reported_together() -> None:
    refused = ("nvmlDeviceGetFieldValues", "nvmlDeviceGetPowerUsage")
    driver, missed = Driver("RTX", refused=refused), list[str]()
    gpus = NvmlGpus(driver, missed.append)
    for _ in range(3):
        (result,) = read(gpus).values()
    assert "power" not in result
    assert "temperature" in result
    assert driver.requested.count(("nvmlDeviceGetPowerUsage", 0)) == 1
    (reason,) = missed
    assert reason.startswith("GPU 0 (RTX) does not report: power (Not Supported), PCIe")


def test_a_32_bit_counter_wraps(clock: SimpleNamespace) -> None:
    driver = Driver("A100")
    driver.value_type = pynvml.NVML_VALUE_TYPE_UNSIGNED_INT
    gpus, result = NvmlGpus(driver, print), []
    for time_ns, count in ((0, 2**32 - 100), (10**8, 900), (10**9, 5000)):
        clock.now = time_ns
        driver.counted[pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES] = count
        result.append(read(gpus)["GPU 0"]["PCIe sent"][1])
    assert result == [None, 1000 * 10, None], "of a long interval it may have wrapped often"


def test_unsupported_queries_of_a_mig_device_use_its_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "MIG-01234")
    power = "nvmlDeviceGetPowerUsage"
    driver = Driver("A100", of_cards=(power,))
    result = read(NvmlGpus(driver, print))["GPU 0"]
    assert result["memory in use"] == ("%", 50), "of the slice"
    assert result["power"] == ("W", 250.5)
    assert [requested for requested in driver.requested if requested[0] == power] == [
        (power, "mig"),
        (power, 0),
    ]


def test_a_missing_driver_or_gpu_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoGpusError, match="does not answer: Not Supported"):
        NvmlGpus(Driver(refused=("nvmlInit",)), print)
    with pytest.raises(NoGpusError, match="no NVIDIA GPU"):
        NvmlGpus(Driver(), print)
    missed: list[str] = []
    monkeypatch.setenv(VARIABLE, "")
    assert read(NvmlGpus(Driver("A100"), missed.append)) == {}
    assert "leaves this process no GPU" in missed[0]


def test_gpus_selected_after_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = NvmlGpus(Driver("A100", "A100"), print)
    assert list(read(gpus)) == ["GPU 0", "GPU 1"]
    monkeypatch.setenv(VARIABLE, "GPU-11")
    assert list(read(gpus)) == ["GPU 0"]


def test_cuda_may_order_different_gpus_differently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missed: list[str] = []
    NvmlGpus(Driver("A100", "T4"), missed.append)
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in missed[0]
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    missed.clear()
    NvmlGpus(Driver("A100", "T4"), missed.append)
    assert not missed


@pytest.mark.parametrize(
    ("named", "indices"),
    [("2,0", [2, 0]), ("1,-1,0", [1]), ("-1", []), ("", []), ("3, 1", [3, 1]), ("9,0", [])],
)
def test_visible_device_numbers(
    named: str, indices: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, named)
    assert visible_gpus(4) == [VisibleGpu(n, index=each) for n, each in enumerate(indices)]


def test_each_local_rank_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert visible_gpus(4) == [VisibleGpu(1, index=1)]
    monkeypatch.setenv(VARIABLE, "3")  # the launcher gave it one already
    assert visible_gpus(4) == [VisibleGpu(0, index=3)]


def test_nvml_is_not_loaded_without_a_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = tmp_path / "nvidiactl"
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(gpu_samples, "DRIVER_FILES", (str(device),))
    assert not gpu_samples.may_have_driver()
    device.touch()
    assert gpu_samples.may_have_driver()
    device.unlink()
    monkeypatch.setattr(sys, "platform", "win32")
    assert gpu_samples.may_have_driver()
