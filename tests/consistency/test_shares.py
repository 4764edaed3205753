"""Shares that a table adds up below its rows are shares of one whole, over all recordings."""

from __future__ import annotations

from typing import cast

import pytest

from tests.consistency.recordings import FILES, opened
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views import registry
from torch_tb_profiler.views.schema import Table, View
from torch_tb_profiler.views.spec import RunView, TraceView, ViewSpec

ROUNDING_PCT = 1e-6


def sums_pct(table: Table) -> dict[str, float]:
    keys = [each.key for each in table.spec.columns if each.additive and each.unit == "pct"]
    return {key: float(table.frame[key].drop_nulls().sum()) for key in keys}


@pytest.mark.parametrize("name", FILES)
def test_shares_in_a_footer_are_at_most_the_whole(name: str) -> None:
    trace = opened(name)

    def answer(spec: ViewSpec) -> View:
        if spec.scope == "run":
            return cast(RunView, spec.function)({"worker": trace}, Selection())
        return cast(TraceView, spec.function)(trace, Selection())

    views = [
        answer(spec)
        for spec in registry.all_views().values()
        if spec.scope != "pair" and spec.missing(trace) is None
    ]
    sums = {
        (table.spec.name, key): total
        for view in views
        for table in view.tables.values()
        for key, total in sums_pct(table).items()
    }
    assert {key: total for key, total in sums.items() if total > 100 + ROUNDING_PCT} == {}
