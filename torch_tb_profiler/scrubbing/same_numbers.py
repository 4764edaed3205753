"""Whether two recordings give the same figures in every view."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.queries.views import run_view, trace_view
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import ViewSpec

TOLERANCE = 1e-9
"""Relative: sums are added up in another order where names sort in another one."""

Row = tuple[float, ...]


def first_difference(original: Sequence[Trace], copy: Sequence[Trace]) -> str | None:
    """The first table whose figures differ, as ``"view kernels, table kernels"``; None if all are
    equal. Rows are compared whatever their order, which may follow from names.

    Args:
        original: The recordings of one run, or one recording.
        copy: Their copies, in the same order.
    """
    for name, spec in all_views().items():
        if spec.scope == "pair":
            continue
        for one, other in _sides(spec, original, copy):
            difference = _difference(_view(spec, one), _view(spec, other))
            if difference is not None:
                return f"view {name}, {difference}"
    return None


def _sides(
    spec: ViewSpec, original: Sequence[Trace], copy: Sequence[Trace]
) -> Iterator[tuple[Sequence[Trace], Sequence[Trace]]]:
    """What is compared: runs as a whole, recordings one by one."""
    if spec.scope == "run":
        yield original, copy
        return
    yield from (([one], [other]) for one, other in zip(original, copy, strict=True))


def _view(spec: ViewSpec, traces: Sequence[Trace]) -> View | None:
    """A view of a run or a recording; None where it has nothing for it, or fails: both must."""
    try:
        if spec.scope == "run":
            workers = {f"{number:06d}": trace for number, trace in enumerate(traces)}
            return run_view(spec, workers, Selection())
        return trace_view(spec, traces[0], Selection())
    except (LoadingError, ValueError, ArithmeticError, LookupError):
        return None


def _difference(original: View | None, copy: View | None) -> str | None:
    if original is None or copy is None:
        return None if original is copy else "which only one of them has"
    for name in original.tables.keys() | copy.tables.keys():
        frames = [view.tables[name].frame for view in (original, copy) if name in view.tables]
        if len(frames) < 2 or not _are_equal(*map(_numbers, frames)):
            return f"table {name}"
    facts = [
        [fact.value for fact in view.facts if isinstance(fact.value, int | float)]
        for view in (original, copy)
    ]
    return None if _are_equal([tuple(facts[0])], [tuple(facts[1])]) else "its figures"


def _numbers(frame: pl.DataFrame) -> list[Row]:
    """The rows of the numeric columns, sorted; a null is -inf."""
    numeric = frame.select(pl.selectors.numeric() | pl.selectors.boolean())
    rows = numeric.cast(pl.Float64).fill_null(-math.inf).fill_nan(math.inf)
    return sorted(rows.rows())


def _are_equal(one: list[Row], other: list[Row]) -> bool:
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=TOLERANCE) for a, b in _pairs(one, other)
    )


def _pairs(one: list[Row], other: list[Row]) -> Iterator[tuple[float, float]]:
    for row, other_row in zip(one, other, strict=True):
        if len(row) != len(other_row):
            yield 0.0, 1.0
            return
        yield from zip(row, other_row, strict=True)
