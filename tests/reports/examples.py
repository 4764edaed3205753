"""A small view with everything awkward in it, for the tests of what people read."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, Fact, Note, Table, TableSpec, Unit, View
from torch_tb_profiler.views.spec import ViewSpec

HOSTILE = "<img src=x onerror=alert(1)>|*b*\x1b[2J\n`_[a](javascript:x)"
LONG = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int, float)"
)

_MEASURES: tuple[tuple[str, str, Unit], ...] = (
    ("total_us", "Total Duration", "us"),
    ("mean_us", "Mean Duration", "us"),
    ("min_us", "Min Duration", "us"),
    ("max_us", "Max Duration", "us"),
    ("bytes_bytes", "Bytes Moved", "bytes"),
    ("rate_gb_per_s", "Rate", "gb_per_s"),
    ("a_count", "Blocks", "count"),
    ("b_count", "Warps", "count"),
    ("c_pct", "Occupancy", "pct"),
    ("d_pct", "Share", "pct"),
)
MEASURES = tuple(Column(key, title, "number", unit, "Help.") for key, title, unit in _MEASURES)
KERNELS = TableSpec(
    "kernels",
    "Kernels",
    "A row is a kernel.",
    (
        Column("name", "Name", "string", None, "Help."),
        Column("operator", "Operator", "string", None, "Help."),
        Column("grid", "Grid", "string", None, "Help."),
        *MEASURES,
    ),
    sort="-d_pct",
)


def _never(_trace: Trace, _selection: Selection) -> View:
    raise AssertionError


SPEC = ViewSpec("kernels", "Kernels", "Which?", "trace", (KERNELS,), _never)


def kernels_view(rows: int = 3, row_count: int | None = None) -> View:
    """A view of the table with hostile, long and wide names."""
    names = [HOSTILE, LONG, "内核" * 30]
    cells = [
        (names[n % 3], "aten::add", None, *(1234.5 * (n + 1) for _ in MEASURES))
        for n in range(rows)
    ]
    frame = pl.DataFrame(cells, KERNELS.polars_schema(), orient="row")
    return View(
        tables={"kernels": Table(KERNELS, frame, row_count=row_count)},
        facts=(
            Fact("gpu_utilization_pct", "GPU utilization", 12.345, "pct", "GPU 0", "Help."),
            Fact("est_sm_pct", "Est. SM efficiency", None, "pct", "GPU 1", "Help.", "not recorded"),
        ),
        notes=(
            Note("advice", "x", "warning", "The data loader takes 80 % of a step. " * 5),
            Note("quality", "y", "info", HOSTILE),
        ),
    )
