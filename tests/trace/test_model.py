"""The trace object."""

from __future__ import annotations

import weakref

import pytest

from tests.helpers.traces import op, trace
from torch_tb_profiler.trace.columns import absent_table
from torch_tb_profiler.trace.model import TABLE_NAMES, TABLES, schema_of
from torch_tb_profiler.trace.nulls import table_to_frame


def test_a_trace_can_be_referred_to_weakly() -> None:
    assert weakref.ref(recorded := trace([op("x", 0, 1)]))() is recorded


@pytest.mark.parametrize("name", [name for name in TABLE_NAMES if name not in TABLES])
def test_tables_of_importers_have_the_types_that_their_columns_become(name: str) -> None:
    table = "collective" if name == "collectives" else name
    built = table_to_frame(absent_table(table, 2)).schema
    assert {key: schema_of(name)[key] for key in built} == dict(built)
