"""Samples as they come from side files and tables of a database → the samples table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64


@dataclass(slots=True)
class SampleRows:
    """Collects samples, a series at a time; times count from the base of the trace."""

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
        """A series; values that are no numbers are left out."""
        values = value.astype(np.float64)
        kept = np.isfinite(values)
        count = int(kept.sum())
        if not count:
            return
        codes = {"source_code": source, "metric_code": metric, "unit_code": unit}
        self.parts.append(
            {
                **{
                    name: np.full(count, self.strings.code(text), np.int32)
                    for name, text in codes.items()
                },
                "time_ns": time_ns[kept].astype(np.int64),
                "value": values[kept],
            }
        )

    def give_to(self, columns: EventColumns) -> None:
        """Append everything to the samples of a trace."""
        own = columns.tables["samples"]
        parts = [own, *self.parts]
        columns.tables["samples"] = {
            name: np.concatenate([part[name] for part in parts]) for name in own
        }
