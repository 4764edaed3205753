"""Which columns of a snapshot's tables have a sum in the footer."""

from __future__ import annotations

import pytest

from torch_tb_profiler.views.schema import TableSpec
from torch_tb_profiler.views.snapshot.columns import TABLES

OF_MOMENTS = [table for table in TABLES if any(column.key == "moment" for column in table.columns)]


@pytest.mark.parametrize("table", OF_MOMENTS, ids=lambda table: table.name)
def test_memory_of_several_moments_is_not_added_up(table: TableSpec) -> None:
    assert not [column.key for column in table.columns if column.additive]


def test_the_tables_of_moments_are_these() -> None:
    assert {table.name for table in OF_MOMENTS} >= {"by_stack", "by_owner", "by_metadata"}
