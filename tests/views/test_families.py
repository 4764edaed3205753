"""Measures that are read together are shown in one multiple of their unit, in every table.

Mean ms beside Min µs, or Host Self ms beside Host Total s, cannot be declared: the columns of one
unit whose keys belong to one kind of measure have one family. What adds up is never a total that
contains another row's, a peak, a mean or a moment.
"""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Column, TableSpec

TOGETHER = {
    "of a call": r"(^|_)(mean|median|min|max|p95|std)(_.*)?_us$",
    "host": r"(?<!mean_)(?<!median_)host_(self|total|python|left|width)",
    "device": r"(?<!mean_)device_(self|total|left|width)_us",
    "parts of a step": r"^(kernel|memcpy|memset|communication|runtime|cpu_exec|other|overlap)_us$",
    "transfer and wait": r"^(.+_)?wait_us$|^delay_us$",
    "bandwidth": r"_gb_per_s$",
    "allocated": r"(alive|size_increase|allocation)_bytes$",
    "starts": r"^(gpu|api)_start_us$",
    "memory of a device": r"^(peak_|device_memory)\w*_bytes$",
}
MEASURES = re.compile(r"(?P<measure>cpu_overhead|gpu_idle|cpu|gpu)_(mean|max|min)_us")
"""Of a call on host and devices: mean, longest and shortest are read together per measure,
which differ by magnitudes from one another."""
SIDES = re.compile(r"(baseline|candidate|delta)_(?P<measure>.+)")
CONTAINS_OTHERS = re.compile(
    r"(^|_)(host|device)_total_us$|(^|_)(mean|median|min|max|p95|std|peak|start|cumulative)(_|$)"
    r"|^delta_|^(size_increase|allocation)_bytes$"
)
TABLES = [
    pytest.param(table, id=f"{spec.name}.{table.name}")
    for spec in all_views().values()
    for table in spec.tables
]


def families(columns: list[Column]) -> set[tuple[str | None, str | None]]:
    """Family and unit of each; of one alone there is nothing to ask."""
    return {(column.unit, column.family) for column in columns}


@pytest.mark.parametrize("table", TABLES)
def test_measures_read_together_have_one_family(table: TableSpec) -> None:
    numbers = [column for column in table.columns if column.unit not in (None, "count", "pct")]
    for kind, pattern in TOGETHER.items():
        result = [column for column in numbers if re.search(pattern, column.key)]
        result = [
            column
            for column in result
            if not SIDES.match(column.key) and not MEASURES.fullmatch(column.key)
        ]
        if len(result) > 1:
            assert None not in {column.family for column in result}, (kind, result)
            assert len(families(result)) == 1, kind


@pytest.mark.parametrize("table", TABLES)
def test_the_times_of_a_call_have_a_family_per_measure(table: TableSpec) -> None:
    measures: dict[str, set[str | None]] = {}
    for column in table.columns:
        match = MEASURES.fullmatch(column.key)
        if match is not None:
            measures.setdefault(match["measure"], set()).add(column.family)
    for measure, names in measures.items():
        assert len(names) == 1, measure
        assert None not in names, measure


@pytest.mark.parametrize("table", TABLES)
def test_both_sides_of_a_measure_have_one_family(table: TableSpec) -> None:
    measures: dict[str, list[Column]] = {}
    for column in table.columns:
        match = SIDES.match(column.key)
        if match is not None and column.unit not in (None, "count", "pct"):
            measures.setdefault(match["measure"], []).append(column)
    for measure, columns in measures.items():
        assert len(families(columns)) == 1, measure
        assert columns[0].family is not None, measure


@pytest.mark.parametrize("table", TABLES)
def test_what_adds_up_holds_no_other_row(table: TableSpec) -> None:
    for column in table.columns:
        if column.additive:
            assert column.type in ("integer", "number"), column.key
            assert not CONTAINS_OTHERS.search(column.key), column.key
