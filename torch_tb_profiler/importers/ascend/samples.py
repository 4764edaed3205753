"""Collects samples from side files and database tables for the samples table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64


class SampleRows(Struct):
    """Collects samples, one series at a time; times are relative to the base of the trace."""

    strings: Strings
    parts: list[ColumnArrays] = field(default_factory=list)

    def add(
        self,
        source: str,
        metric: str,
        unit: str,
        time_ns: Int64,
        value: npt.NDArray[np.floating | np.integer],
    ) -> None:
        """Add a series; values that are not finite are left out."""
        values = value.astype(np.float64)
        is_finite = np.isfinite(values)
        count = int(is_finite.sum())
        if not count:
            return
        codes = {"source_code": source, "metric_code": metric, "unit_code": unit}
        self.parts.append(
            {
                **{
                    name: np.full(count, self.strings.code(text), np.int32)
                    for name, text in codes.items()
                },
                "time_ns": time_ns[is_finite].astype(np.int64),
                "value": values[is_finite],
            }
        )

    def append_to(self, columns: EventColumns) -> None:
        """Append all samples to those of a trace."""
        existing = columns.tables["samples"]
        parts = [existing, *self.parts]
        columns.tables["samples"] = {
            name: np.concatenate([part[name] for part in parts]) for name in existing
        }
