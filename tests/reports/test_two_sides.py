"""Tables of host and device as two; times in the unit that is asked for."""

from __future__ import annotations

import polars as pl
import pytest
from msgspec.structs import replace

from torch_tb_profiler.reports.cells import display_columns
from torch_tb_profiler.reports.two_sides import on_two_sides
from torch_tb_profiler.views.schema import Column, Table, TableSpec, View

SPEC = TableSpec(
    "operator",
    "Operators",
    "Operators.",
    (
        Column("name", "Name", "string", None, "Name."),
        Column("calls", "Calls", "integer", "count", "Calls."),
        Column("cpu_total_us", "CPU Total", "number", "us", "Time."),
        Column("gpu_total_us", "GPU Total", "number", "us", "Time."),
        Column("bytes", "Size", "integer", "bytes", "Size."),
        Column("path", "Path", "string", None, "Path.", hidden=True),
    ),
    two_sided=True,
)


def table(gpu_us: float | None) -> Table:
    rows = [("a", 1, 1234.5678, gpu_us, 7, "a")]
    return Table(SPEC, pl.DataFrame(rows, schema=SPEC.polars_schema(), orient="row"))


def test_what_has_times_of_both_sides_is_two_tables() -> None:
    made = on_two_sides(View(tables={"operator": table(5.0)})).tables
    assert {name: (each.spec.title, each.frame.columns) for name, each in made.items()} == {
        "operator_cpu": ("Operators, CPU", ["name", "calls", "cpu_total_us", "path"]),
        "operator_gpu": ("Operators, GPU", ["name", "calls", "gpu_total_us", "bytes", "path"]),
    }
    one_sided = replace(table(5.0), spec=replace(SPEC, two_sided=False))
    some = View(tables={"operator": one_sided, "kernel": table(5.0)})
    assert list(on_two_sides(some).tables) == ["operator", "kernel_cpu", "kernel_gpu"]
    alone = View(tables={"operator": table(None)})
    assert on_two_sides(alone) == alone


@pytest.mark.parametrize(
    ("unit", "label", "cell"),
    [
        ("s", "s", "0.001235"),
        ("ms", "ms", "1.235"),
        ("us", "µs", "1,234.57"),
        ("ns", "ns", "1,234,568"),
    ],
)
def test_times_are_in_the_unit_that_is_asked_for(unit: str, label: str, cell: str) -> None:
    columns = {column.key: column for column in display_columns(table(None), time_unit=unit)}
    assert (columns["cpu_total_us"].unit, columns["cpu_total_us"].cells) == (label, (cell,))
    assert columns["calls"].cells == ("1",)
