"""``minddata_cpu_utilization_*.json``: what the CPU did while data was loaded.

Format: docs/format-mindspore.md#cpu.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from torch_tb_profiler.importers.mindspore.numbers import decimal, mean, number, whole
from torch_tb_profiler.importers.mindspore.texts import UnreadableError, child, objects
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
"""Key of a list of values, the metric, its unit."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a source at a time."""

    source: str
    metric: str
    unit: str
    time_ns: int
    value: float


@dataclass(frozen=True, slots=True)
class CpuUse:
    """What was read: samples, and per operation of the pipeline the mean of its share of the
    CPU."""

    samples: list[Sample] = field(default_factory=list)
    of_operations: dict[int, float] = field(default_factory=dict)


def read_cpu(value: Any, types: Mapping[int, str], quality: QualityReport) -> CpuUse:
    """The samples, at the file's own times (ms of a clock of its own).

    Args:
        value: The file.
        types: Types of the operations of the pipeline, by number.
        quality: Told of values without a time.

    Raises:
        UnreadableError: it holds no times.
    """
    stamps = child(value, "time_stamp")
    times = [decimal(stamp) for stamp in stamps] if isinstance(stamps, list) else []
    if not times:
        raise UnreadableError("it holds no times")
    use = CpuUse()
    for source, key in ((HOST, "device_info"), (PROCESS, "process_info")):
        use.samples.extend(_samples(source, child(value, key), times, quality))
    for each in objects(child(value, "op_info")):
        operation = whole(each.get("op_id"))
        if operation is None:
            quality.add("side_row_left_out")
            continue
        metrics = each.get("metrics")
        source = f"{types.get(operation, 'operation')} ({operation})"
        use.samples.extend(_samples(source, metrics, times, quality))
        share = _mean_share(metrics)
        if share is not None:
            use.of_operations[operation] = share
    return use


def _samples(
    source: str, told: object, times: list[Decimal | None], quality: QualityReport
) -> Iterator[Sample]:
    for key, metric, unit in _METRICS:
        values = child(told, key)
        if not isinstance(values, list):
            continue
        quality.add("side_row_left_out", max(0, len(values) - len(times)))
        for time_ms, told_value in zip(times, values, strict=False):
            sampled = number(told_value)
            if time_ms is None or sampled is None:
                quality.add("side_row_left_out")
            else:
                yield Sample(source, metric, unit, int(time_ms.scaleb(6)), sampled)


def _mean_share(metrics: object) -> float | None:
    """The mean of user and system together."""
    parts = []
    for key in ("user_utilization", "sys_utilization"):
        values = child(metrics, key)
        known = [decimal(each) for each in values] if isinstance(values, list) else []
        part = mean([each for each in known if each is not None])
        if part is not None:
            parts.append(part)
    return number(sum(parts, Decimal(0))) if parts else None
