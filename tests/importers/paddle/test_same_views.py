"""JSON and protobuf of one recording give the same views, except for data that only one has.

JSON has no nanoseconds: it cuts starts to whole microseconds, and repeats them and durations in
single precision, so a few nanoseconds are lost. Protobuf has no order of threads, which is not in a
view.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tests.importers.kineto.reference import read_file
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import VIEW_NAMES, view_named
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import RunView, TraceView

LOST_US = 0.03
"""What starts and durations lose, of both ends."""

LOST_IN_MEMORY_US = 1.0
"""Memory events have no other time than whole microseconds."""

LOST_SHARE = 2e-3
"""Of quotients of short times, of 1 at least."""

VIEWS = [name for name in VIEW_NAMES if view_named(name).scope != "pair"]


@pytest.fixture(scope="module", params=["w0", "w2"])
def both(request: pytest.FixtureRequest, corpus: Path) -> tuple[Trace, Trace]:
    folder = corpus / "paddle_3.3.1" / "oracle"
    json, protobuf = (
        build_trace(read_file(folder / f"{request.param}.paddle_trace.{ending}"))
        for ending in ("json", "pb")
    )
    return json, protobuf


def view_of(name: str, trace: Trace, selection: Selection) -> View:
    spec = view_named(name)
    if spec.scope == "run":
        return cast(RunView, spec.function)({"worker": trace}, selection)
    return cast(TraceView, spec.function)(trace, selection)


def is_close(key: str, one: Any, other: Any, in_memory: bool) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if not key.endswith("_us"):
            return abs(one - other) <= LOST_SHARE * max(1, abs(one))
        return abs(one - other) <= (LOST_IN_MEMORY_US if in_memory else LOST_US)
    return bool(one == other)


def differences(one: View, other: View, in_memory: bool) -> list[Any]:
    differences: list[Any] = []
    facts = [{(each.key, each.scope): each.value for each in view.facts} for view in (one, other)]
    assert one.tables.keys() == other.tables.keys()
    assert facts[0].keys() == facts[1].keys()
    for fact, value in facts[0].items():
        if not is_close(fact[0], value, facts[1][fact], in_memory):
            differences.append((fact, value, facts[1][fact]))
    for name, table in one.tables.items():
        left, right = table.frame, other.tables[name].frame
        if left.shape != right.shape or table.null_reasons != other.tables[name].null_reasons:
            differences.append((name, left.shape, right.shape))
            continue
        for key in left.columns:
            pairs = zip(left[key].to_list(), right[key].to_list(), strict=True)
            wrong = [(row, a, b) for row, (a, b) in enumerate(pairs)
                     if not is_close(key, a, b, in_memory)]  # fmt: skip
            differences += [(name, key, *each) for each in wrong[:2]]
    return differences


@pytest.mark.parametrize("name", VIEWS)
def test_every_table_of_a_view(both: tuple[Trace, Trace], name: str) -> None:
    json, protobuf = both
    spec = view_named(name)
    assert spec.missing(json) == spec.missing(protobuf)
    if spec.missing(json) is not None:
        return
    for group_by in spec.group_bys or (None,):
        selection = Selection(group_by=group_by)
        one, other = (view_of(name, each, selection) for each in (json, protobuf))
        assert differences(one, other, name == "memory") == [], group_by
