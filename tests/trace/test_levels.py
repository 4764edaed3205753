"""Traces nested too deep: what is left out, and that the rest is as if it had not been there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import Event, annotation, call, frame, kernel, op, trace
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.trace.model import TABLES

LEVELS = 3


def nested(shape: list[Any], start: float, level: int = 0) -> tuple[list[tuple[Event, int]], float]:
    """Operators as nested as the lists in ``shape``, each with its level; and where they end."""
    events: list[tuple[Event, int]] = []
    at = start + 1
    for child in shape:
        inner, at = nested(child, at, level + 1)
        events += inner
    end = at + 1
    name = f"op{len(shape)}_{level}"
    return [(op(name, start, end - start, ext=int(start)), level), *events], end


shapes: st.SearchStrategy[Any] = st.recursive(
    st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=12
)


@examples(60)
@given(st.lists(shapes, min_size=1, max_size=3))
def test_what_remains_is_the_trace_without_the_deep_slices_that_contain_others(
    tops: list[list[Any]],
) -> None:
    events: list[tuple[Event, int]] = []
    at = 0.0
    for top in tops:
        more, at = nested(top, at)
        events += more
    retained = [
        event
        for event, level in events
        if level < LEVELS or event["name"].startswith("op0_")  # contains no other
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LIMITS_VARIABLE, f"levels={LEVELS}")
        cut = trace([event for event, _ in events])
        patch.delenv(LIMITS_VARIABLE)
        expected = trace(retained)
    assert cut.quality.counts.get("levels_left_out", 0) == len(events) - len(retained)
    codes = pl.Series(cut.strings, dtype=pl.String), pl.Series(expected.strings, dtype=pl.String)
    for name in TABLES:
        left, right = (
            getattr(each, name).with_columns(
                pl.col(column).replace_strict(dict(enumerate(text)), default=None)
                for column in getattr(each, name).columns
                if column.endswith("_code")
            )
            for each, text in zip((cut, expected), codes, strict=True)
        )
        assert left.equals(right, null_equal=True), name


def test_work_launched_below_the_limit_counts_for_the_slice_that_remains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "levels=2")
    host = [
        annotation("outer", 0, 100),
        frame("a.py(1): f", 0, 100),
        frame("a.py(2): g", 1, 98),
        frame("a.py(3): h", 2, 96),
        op("aten::addmm", 5, 90, ext=1),
        op("aten::mm", 6, 80, ext=2),
        call("cudaLaunchKernel", 10, 5, corr=7),
    ]
    built = trace([*host, kernel("gemm", 20, 40, corr=7)])
    names = [built.text(code) for code in built.slices["name_code"]]
    assert "aten::addmm" in names
    assert "a.py(2): g" in names
    work = built.device_work.row(0, named=True)
    owner = built.text(built.slices["name_code"][work["owner"]])
    assert owner == "aten::mm"
    outer = built.slices.row(names.index("outer"), named=True)
    assert outer["device_total_ns"] == 40_000


def test_the_number_of_levels_follows_from_how_much_is_nested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "nested=60")
    chain = [op(f"level{i}", i, 100 - 2 * i, ext=i) for i in range(10)]
    leaves = [op("leaf", 10 + i / 10, 0.05, ext=20 + i) for i in range(10)]
    built = trace([*chain, *leaves])
    # Four levels: 0 + 1 + 2 + 3 for them, and 4 for each of ten leaves; five would be 60 + ...
    deepest = built.slices["depth"].max()
    assert deepest == 5
    assert built.slices.height == 5 + 10
    (example,) = built.quality.examples["levels_left_out"]
    assert "deeper than 5 levels" in example
    assert "nested=" in example


@pytest.mark.parametrize("around", [annotation, frame])
def test_calls_and_work_count_in_all_slices_around_them(
    monkeypatch: pytest.MonkeyPatch, around: Callable[..., Event]
) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "nested=200")
    outer = [around(f"level{level}", level, 1000 - 2 * level) for level in range(20)]
    launched: list[Event] = []
    for number in range(20):
        at = 100 + 10 * number
        launched += [
            op("aten::mm", at, 6, ext=number + 1),
            call("cudaLaunchKernel", at + 1, 2, corr=number + 1),
            kernel("gemm", at + 3, 4, corr=number + 1),
        ]
    built = trace([*outer, *launched])
    levels = [built.text(code) or "" for code in built.slices["name_code"].to_list()]
    assert sum(name.startswith("level") for name in levels) <= 5
    assert levels.count("gemm") == levels.count("aten::mm") == 20
    assert built.quality.counts["levels_left_out"] >= 15
