"""``minddata_cpu_utilization_*.json``: CPU utilization while data was loaded.

Format: docs/format-mindspore.md#cpu.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct, field

from torch_tb_profiler.importers.mindspore.numbers import decimal, integer, mean, number
from torch_tb_profiler.importers.mindspore.parsing import UnreadableFileError, child, objects
from torch_tb_profiler.trace.quality import QualityReport

PERCENT = "%"
HOST = "host"
PROCESS = "process"

_METRICS = (
    ("user_utilization", "CPU user", PERCENT),
    ("sys_utilization", "CPU system", PERCENT),
    ("io_utilization", "CPU I/O wait", PERCENT),
    ("idle_utilization", "CPU idle", PERCENT),
    ("runable_processes", "runnable processes", ""),
    ("context_switch_count", "context switches", ""),
)
"""(key of a list of values, metric, unit)."""


class CpuSample(Struct, frozen=True):
    """A value of a metric at a time."""

    source: str
    metric: str
    unit: str
    time_ns: int
    value: float


class CpuUtilization(Struct, frozen=True):
    """Samples, and per operation of the data pipeline its mean CPU utilization in percent."""

    samples: list[CpuSample] = field(default_factory=list)
    operation_pct: dict[int, float] = field(default_factory=dict)


def read_cpu_utilization(
    value: Any, types: Mapping[int, str], quality: QualityReport
) -> CpuUtilization:
    """Read the samples, at the times of the file (ms of a separate clock).

    Args:
        value: The parsed file.
        types: Operation number → type.
        quality: Gets the number of values without a time.

    Raises:
        UnreadableFileError: it has no times.
    """
    stamps = child(value, "time_stamp")
    times = [decimal(stamp) for stamp in stamps] if isinstance(stamps, list) else []
    if not times:
        raise UnreadableFileError("it has no times")
    utilization = CpuUtilization()
    for source, key in ((HOST, "device_info"), (PROCESS, "process_info")):
        utilization.samples.extend(_samples(source, child(value, key), times, quality))
    for each in objects(child(value, "op_info")):
        operation = integer(each.get("op_id"))
        if operation is None:
            quality.add("side_row_left_out")
            continue
        metrics = each.get("metrics")
        source = f"{types.get(operation, 'operation')} ({operation})"
        utilization.samples.extend(_samples(source, metrics, times, quality))
        mean_pct = _mean_utilization(metrics)
        if mean_pct is not None:
            utilization.operation_pct[operation] = mean_pct
    return utilization


def _samples(
    source: str, lists: object, times: list[Decimal | None], quality: QualityReport
) -> Iterator[CpuSample]:
    for key, metric, unit in _METRICS:
        values = child(lists, key)
        if not isinstance(values, list):
            continue
        quality.add("side_row_left_out", max(0, len(values) - len(times)))
        for time_ms, raw in zip(times, values, strict=False):
            sampled = number(raw)
            if time_ms is None or sampled is None:
                quality.add("side_row_left_out")
            else:
                yield CpuSample(source, metric, unit, int(time_ms.scaleb(6)), sampled)


def _mean_utilization(metrics: object) -> float | None:
    """Mean user plus mean system utilization, in percent."""
    parts = []
    for key in ("user_utilization", "sys_utilization"):
        values = child(metrics, key)
        known = [decimal(each) for each in values] if isinstance(values, list) else []
        part = mean([each for each in known if each is not None])
        if part is not None:
            parts.append(part)
    return number(sum(parts, Decimal(0))) if parts else None
