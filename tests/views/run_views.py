"""What tests of the distributed view share: calling it and reading its rows."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.schema import View

EVERYTHING = Selection()
FLOAT: dict[str, Any] = {"Input type": ["float"]}


def view(traces: dict[str, Trace], selection: Selection = EVERYTHING) -> View:
    result = distributed(traces, selection)
    for table in result.tables.values():
        assert dict(table.frame.schema) == table.spec.polars_schema()
        for key in table.frame.columns:
            if table.frame[key].null_count():
                assert key in table.null_reasons, (table.spec.name, key)
    return result


def rows(result: View, table: str, *keys: str, **where: str) -> list[tuple[Any, ...]]:
    frame = result.tables[table].frame.filter(**where) if where else result.tables[table].frame
    return frame.select(keys).rows()


OVERLAP = ("computation_us", "overlap_us", "communication_us", "other_us")
OPERATIONS = (
    "name",
    "calls",
    "total_bytes",
    "mean_bytes",
    "total_us",
    "mean_us",
    "transfer_us",
    "mean_transfer_us",
)


def rounded(result: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(round(v) if isinstance(v, float) else v for v in row) for row in result]
