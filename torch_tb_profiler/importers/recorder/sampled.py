"""Samples of all blocks → the table of samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torch_tb_profiler.importers.recorder.values import (
    MAX_TEXT_CHARS,
    TIME,
    WRONG,
    column_of,
    floats,
)
from torch_tb_profiler.importers.thinning import thinned
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Float64,
    Int64,
    empty_table,
)
from torch_tb_profiler.trace.quality import QualityReport

MAX_SERIES = 2000
"""A recorder writes some dozens; values of a damaged journal beyond are left out."""

MAX_SAMPLES = 2_000_000
"""Of more, as many in a row as it takes become their mean."""

PACK_VALUES = 1 << 20

Key = tuple[str, str, str]
"""Source, metric, unit."""


@dataclass(slots=True)
class _Series:
    times: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    packed: list[tuple[Int64, Float64]] = field(default_factory=list)


@dataclass(slots=True)
class Sampled:
    """The samples so far.

    Attributes:
        quality: Told of what is wrong, left out, repeated or joined.
    """

    quality: QualityReport
    _series: dict[Key, _Series] = field(default_factory=dict)
    _pending: int = 0

    def add(self, block: dict[str, Any]) -> None:
        """Take the samples of a block."""
        source, times, metrics = block.get("source"), block.get("time_ns"), block.get("metrics")
        if not (isinstance(source, str) and isinstance(times, list) and isinstance(metrics, dict)):
            self.quality.add(WRONG)
            return
        for name, metric in metrics.items():
            if not isinstance(metric, dict):
                self.quality.add(WRONG)
                continue
            unit = metric.get("unit")
            key = (source, name, unit if isinstance(unit, str) else "")
            series = self._of(tuple(part[:MAX_TEXT_CHARS] for part in key))
            if series is None:
                self.quality.add("side_row_left_out", len(times))
                continue
            series.times.extend(times)
            series.values.extend(column_of(metric, "values", len(times), self.quality))
            self._pending += len(times)
        if self._pending >= PACK_VALUES:
            self._pack()

    def first_ns(self) -> int | None:
        """The time of the earliest; None without any."""
        self._pack()
        parts = [times for series in self._series.values() for times, _ in series.packed]
        return min((int(times.min()) for times in parts if len(times)), default=None)

    def table(self, base_ns: int, code_of: Callable[[str], int]) -> ColumnArrays:
        """The table of samples.

        Args:
            base_ns: The time that its times count from.
            code_of: Gives the code of a text.
        """
        self._pack()
        keys = [key for key, series in self._series.items() if series.packed]
        if not keys:
            return empty_table("samples")
        time_ns, value, place = self._joined(keys)
        codes = [
            np.array([code_of(key[part]) for key in keys], np.int32)[place] for part in range(3)
        ]
        source, metric, unit = codes
        return {
            "source_code": source,
            "metric_code": metric,
            "unit_code": unit,
            "time_ns": time_ns - base_ns,
            "value": value,
        }

    def _joined(self, keys: list[Key]) -> tuple[Int64, Float64, Int64]:
        """Times, values and places of keys, by series and time, each time of a series once."""
        parts = [(n, part) for n, key in enumerate(keys) for part in self._series[key].packed]
        time_ns = np.concatenate([times for _, (times, _) in parts])
        value = np.concatenate([values for _, (_, values) in parts])
        place = np.repeat([n for n, _ in parts], [len(times) for _, (times, _) in parts])
        order = np.lexsort((time_ns, place))
        time_ns, value, place = time_ns[order], value[order], place[order]
        is_new = np.ones(len(place), np.bool_)
        is_new[1:] = (time_ns[1:] != time_ns[:-1]) | (place[1:] != place[:-1])
        self.quality.add("journal_repeated", int((~is_new).sum()))
        kept = time_ns[is_new], value[is_new], place[is_new]
        joined = thinned(*kept, MAX_SAMPLES)
        self.quality.add("samples_thinned", len(kept[0]) - len(joined[0]))
        return joined

    def _of(self, key: Any) -> _Series | None:
        if key not in self._series and len(self._series) >= MAX_SERIES:
            return None
        return self._series.setdefault(key, _Series())

    def _pack(self) -> None:
        self._pending = 0
        for series in self._series.values():
            if not series.times:
                continue
            times = TIME.column(series.times, self.quality)
            values = floats(series.values, self.quality)
            series.times, series.values = [], []
            self.quality.add("side_row_left_out", int((times == ABSENT).sum()))
            kept = (times != ABSENT) & ~np.isnan(values)
            if kept.any():
                series.packed.append((times[kept], values[kept]))
