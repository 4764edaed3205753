"""Collects the samples of all blocks for the sample table.

Unknown values stay in the table as NaN: the interval of the next value begins at their time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.budget import Budget
from torch_tb_profiler.importers.downsampling import downsample
from torch_tb_profiler.importers.recorder.values import (
    INVALID_VALUE,
    MAX_TEXT_CHARS,
    TIME,
    column_values,
    floats,
)
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Float64,
    Int64,
    empty_table,
)
from torch_tb_profiler.trace.quality import QualityReport

VALUES_PER_PACK = 1 << 20

SeriesKey = tuple[str, str, str]
"""Source, metric, unit."""


class _Series(Struct):
    times: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    packed: list[tuple[Int64, Float64]] = field(default_factory=list)


class SampleCollector(Struct):
    """Collects samples.

    Attributes:
        quality: Gets the number of samples that are invalid, left out, repeated or averaged.
        budget: The limits of the file.
    """

    quality: QualityReport
    budget: Budget
    _most_series: int = 0
    _series: dict[SeriesKey, _Series] = field(default_factory=dict)
    _pending: int = 0

    def __post_init__(self) -> None:
        """Look the limit up once."""
        self._most_series = self.budget.count("series")

    def add(self, block: dict[str, Any]) -> None:
        """Add the samples of a block."""
        source, times, metrics = block.get("source"), block.get("time_ns"), block.get("metrics")
        if not (isinstance(source, str) and isinstance(times, list) and isinstance(metrics, dict)):
            self.quality.add(INVALID_VALUE)
            return
        for name, metric in metrics.items():
            if not isinstance(metric, dict):
                self.quality.add(INVALID_VALUE)
                continue
            unit = metric.get("unit")
            series = self._series_of(source, name, unit if isinstance(unit, str) else "")
            if series is None:
                self.quality.add("side_row_left_out", len(times), self.budget.described("series"))
                continue
            series.times.extend(times)
            series.values.extend(column_values(metric, "values", len(times), self.quality))
            self._pending += len(times)
        if self._pending >= VALUES_PER_PACK:
            self._pack()

    def first_ns(self) -> int | None:
        """The earliest time; None without samples."""
        self._pack()
        parts = [times for series in self._series.values() for times, _ in series.packed]
        return min((int(times.min()) for times in parts if len(times)), default=None)

    def table(self, base_ns: int, code_of: Callable[[str], int]) -> ColumnArrays:
        """The sample table.

        Args:
            base_ns: The time from which the times of the table count.
            code_of: Text → its code.
        """
        self._pack()
        parts = [(key, *_sorted(each)) for key, each in self._series.items() if each.packed]
        parts = [part for part in parts if not np.isnan(part[2]).all()]
        if not parts:
            return empty_table("samples")
        collected_count = sum(
            len(times) for key, *_ in parts for times, _ in self._series[key].packed
        )
        time_ns = np.concatenate([times for _, times, _ in parts])
        value = np.concatenate([values for _, _, values in parts])
        series_index = np.repeat(np.arange(len(parts)), [len(times) for _, times, _ in parts])
        self.quality.add("journal_repeated", collected_count - len(time_ns))
        count = len(time_ns)
        if count > self.budget.count("samples"):
            is_known = ~np.isnan(value)
            known = (time_ns[is_known], value[is_known], series_index[is_known])
            time_ns, value, series_index = downsample(*known, self.budget.count("samples"))
        self.quality.add("samples_thinned", count - len(time_ns), self.budget.described("samples"))
        source, metric, unit = (
            np.array([code_of(key[part]) for key, _, _ in parts], np.int32)[series_index]
            for part in range(3)
        )
        return {
            "source_code": source,
            "metric_code": metric,
            "unit_code": unit,
            "time_ns": time_ns - base_ns,
            "value": value,
        }

    def _series_of(self, source: str, metric: str, unit: str) -> _Series | None:
        series = self._series.get((source, metric, unit))
        if series is None:
            source, metric, unit = (part[:MAX_TEXT_CHARS] for part in (source, metric, unit))
            if len(self._series) >= self._most_series:
                return None
            series = self._series.setdefault((source, metric, unit), _Series())
        return series

    def _pack(self) -> None:
        self._pending = 0
        for series in self._series.values():
            if not series.times:
                continue
            times = TIME.validate_column(series.times, self.quality)
            values = floats(series.values, self.quality)
            series.times, series.values = [], []
            self.quality.add("side_row_left_out", int((times == ABSENT).sum()))
            has_time = times != ABSENT
            if has_time.any():
                series.packed.append((times[has_time], values[has_time]))


def _sorted(series: _Series) -> tuple[Int64, Float64]:
    """Times and values of a series in order of time; the first value of each time."""
    time_ns = np.concatenate([times for times, _ in series.packed])
    value = np.concatenate([values for _, values in series.packed])
    if np.any(time_ns[1:] < time_ns[:-1]):
        order = np.argsort(time_ns, kind="stable")
        time_ns, value = time_ns[order], value[order]
    is_new = np.ones(len(time_ns), np.bool_)
    is_new[1:] = time_ns[1:] != time_ns[:-1]
    return time_ns[is_new], value[is_new]
