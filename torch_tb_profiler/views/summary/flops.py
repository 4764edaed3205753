"""FLOPs of operators, with those of the operators that they call.

Definitions: ``docs/flops.md``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import levels, with_ancestors
from torch_tb_profiler.analysis.efficiency.work.call_work import call_work
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.summaries.calls import threads
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


def with_flops(
    rows: pl.DataFrame, trace: Trace, selection: Selection, *, by_thread: bool
) -> pl.DataFrame:
    """``rows`` (name, thread) of operators with ``flops``, null where of no call they are known.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    known = _flops_of_calls(trace)
    if known.is_empty():
        return rows.with_columns(flops=pl.lit(None, pl.Float64))
    chosen = slice_mask(trace, selection)[known["slice"].to_numpy()]
    frame = known.filter(pl.Series(chosen))
    thread = threads(trace)[frame["track"].to_numpy()] if by_thread else pl.lit(None, pl.String)
    sums = (
        frame.with_columns(thread=thread).group_by("name_code", "thread").agg(pl.col("flops").sum())
    )
    sums = sums.with_columns(name=codes.texts(trace, sums["name_code"])).drop("name_code")
    return rows.join(
        sums, on=["name", "thread"], how="left", nulls_equal=True, maintain_order="left"
    )


@per_trace
def _flops_of_calls(trace: Trace) -> pl.DataFrame:
    """The calls with known FLOPs in or below them: slice, name_code, track, flops."""
    tree, work = call_tree(trace), call_work(trace)
    known = work.is_counted & ~np.isnan(work.flops)
    flops = np.where(known, work.flops, 0.0)
    for level in reversed(levels(tree.parent)[1:]):
        np.add.at(flops, tree.parent[level], flops[level])
    calls = with_ancestors(np.flatnonzero(known), tree.parent)
    ids = tree.slice[calls]
    return trace.slices.select("name_code", "track")[ids].with_columns(
        slice=pl.Series(ids), flops=pl.Series(flops[calls])
    )
