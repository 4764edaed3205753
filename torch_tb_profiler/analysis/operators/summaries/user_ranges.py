"""The ranges of the user and of frameworks (``record_function``), summed by name.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.algebra.intervals import time_before, union
from torch_tb_profiler.analysis.operators.summaries.calls import (
    calls_of,
    selected_calls,
    summed,
    threads,
)
from torch_tb_profiler.analysis.recording.range_domains import domain_column, range_ids
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.phases.times import host_steps
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

ALL_THREADS = "all"
OF_FRAMEWORK = frozenset({"forward", "backward", "communication"})
"""Words for the category of ranges that are a format's own parts of a step, in lower case."""


@per_trace
def range_calls(trace: Trace) -> pl.DataFrame:
    """One row per call of a range, as :func:`calls_of`, with its ``domain``; made once."""
    slices = trace.slices
    ids = range_ids(trace, (Category.ANNOTATION,))
    words = slices["raw_category_code"][ids]
    own = codes.present_names_match(
        trace, words, lambda word: word.lower() in OF_FRAMEWORK, absent=False
    )
    ids = ids[~own]
    calls = calls_of(trace, ids, indices(slices["device_total_ns"][ids]))
    return calls.with_columns(domain=domain_column(trace, ids))


def user_ranges(
    trace: Trace, selection: Selection, *, domain: str | None = None, by_thread: bool = False
) -> pl.DataFrame:
    """Ranges of a selection, of one domain where it is given, by name: ``name``, ``domain``,
    ``thread`` (:data:`ALL_THREADS` where threads are merged), the columns of :func:`summed`, and
    ``in_steps_ns``: moments of the selected steps on the host in which one of them lasted.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = range_calls(trace)
    calls = selected_calls(trace, selection, calls)
    if by_thread:
        calls = calls.with_columns(thread=threads(trace)[calls["track"].to_numpy()])
    else:
        calls = calls.with_columns(thread=pl.lit(ALL_THREADS))
    keys = ["name_code", "domain", "thread"]
    groups = summed(calls, keys)
    groups = groups.with_columns(in_steps_ns=_in_steps_ns(trace, selection, calls, groups, keys))
    named = groups.with_columns(name=codes.texts(trace, groups["name_code"]))
    return named if domain is None else named.filter(domain=domain)


def _in_steps_ns(
    trace: Trace, selection: Selection, calls: pl.DataFrame, groups: pl.DataFrame, keys: list[str]
) -> pl.Series:
    steps = host_steps(trace, selection)
    spans = union(steps.start_ns, steps.end_ns)
    group_rows = groups.select(keys).with_row_index("group")
    group = calls.join(group_rows, on=keys, how="left", maintain_order="left", nulls_equal=True)
    start = calls["start_ns"].to_numpy()
    inside = union_lengths(
        group["group"].cast(pl.Int64).to_numpy(),
        time_before(spans, start),
        time_before(spans, start + calls["cpu_ns"].to_numpy()),
        groups.height,
    )
    return pl.Series(inside, dtype=pl.Int64)
