"""The core views answer for every damaged file that can be read at all, and keep their shape."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.querying import query
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Table

DATA = Path(__file__).resolve().parent.parent / "data"
DAMAGED = sorted(
    path
    for folder in ("malformed_derived", "torch213_malformed")
    for path in (DATA / folder).iterdir()
    if path.name != "manifest.json"
)


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.name)
def test_views_of_damaged_files(path: Path) -> None:
    try:
        columns = import_trace([path.read_bytes()], name=path.name)
    except TraceFormatError:
        pytest.skip("refused; the importer's tests say why")
    recorded = build_trace(columns)
    middle = (recorded.meta.start_ns + recorded.meta.end_ns) // 2
    for function in (overview, operators, kernels):
        spec = all_views()[function.__name__]
        for group_by in spec.group_bys or (None,):
            for start_ns in (None, middle):
                view = function(recorded, Selection(start_ns=start_ns, group_by=group_by))
                for table in view.tables.values():
                    assert dict(table.frame.schema) == table.spec.polars_schema()
                    if pl.String in table.frame.schema.values():
                        assert query(table, filter="x", limit=1).frame.height <= 1
                    for series in table.frame.select(columns_with_numbers(table)).iter_columns():
                        assert not series.is_nan().any()
                        assert not series.is_infinite().any()


def columns_with_numbers(table: Table) -> list[str]:
    return [c.key for c in table.spec.columns if c.type == "number"]
