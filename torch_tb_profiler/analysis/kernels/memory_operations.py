"""Copies and memsets of memory as host calls, with the device work they launched.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start, last_above
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.kernels.copies import SET, copy_calls
from torch_tb_profiler.analysis.operators.summaries.calls import FIGURES, SIDES
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

CALL_NAME = re.compile("memcpy|memorycopy|memset", re.IGNORECASE)
SET_NAME = re.compile("memset", re.IGNORECASE)
CALLS = (Category.RUNTIME, Category.ANNOTATION, Category.HOST_OTHER)
COPY_TITLE, SET_TITLE = "Memcpy", "Memset"


@per_trace
def memory_calls(trace: Trace) -> Int64:
    """Slice ids of the host calls that copy or memset memory, ascending: runtime calls and ranges,
    recognized by name; only the outermost of nested ones."""
    category = trace.slices["category"].to_numpy()
    rows = np.flatnonzero(np.isin(category, CALLS))
    names = trace.slices["name_code"].to_numpy()[rows]
    is_named = codes.names_match(trace, names, lambda name: bool(CALL_NAME.search(name)))
    calls: Int64 = rows[is_named]
    if not len(calls):
        return calls
    track = trace.slices["track"].to_numpy()[calls]
    start = trace.slices["start_ns"].to_numpy()[calls]
    end = start + trace.slices["dur_ns"].to_numpy()[calls]
    around = last_above(end, np.arange(len(calls)), start)
    outermost = (around < 0) | (track[around] != track)
    outer: Int64 = calls[outermost]
    return outer


@per_trace
def _operations(trace: Trace) -> pl.DataFrame:
    """One row per host call and kind of its device work, and per copy or memset that no such call
    launched: call (slice id, -1), row (of its first device work, -1), name, host_call_code (null
    where unknown), cpu_ns, gpu_ns, bytes, sized_ns."""
    calls, work = memory_calls(trace), copy_calls(trace)
    launch = indices(trace.device_work["launch"])[work["row"].to_numpy()]
    launching = innermost_around_start(trace, calls, launch)
    names = trace.slices["name_code"].to_numpy().astype(np.int64)
    copied = work.select("row", "bytes", "launch_code", gpu_ns="dur_ns").with_columns(
        name=_titles(work["kind"]),
        call=pl.Series(launching, dtype=pl.Int64),
        # Work that no memory call launched is an operation by itself.
        one=pl.Series(np.where(launching >= 0, -1, work["row"].to_numpy()), dtype=pl.Int64),
    )
    sized = pl.col("bytes").is_not_null()
    launched = copied.group_by("call", "name", "one", maintain_order=True).agg(
        pl.col("row").first(),
        pl.col("launch_code").first(),
        pl.col("gpu_ns").sum(),
        pl.when(sized.any()).then(pl.col("bytes").sum()).alias("bytes"),
        pl.col("gpu_ns").filter(sized).sum().alias("sized_ns"),
    )
    on_host = np.setdiff1d(calls, launching)
    is_set = codes.names_match(trace, names[on_host], lambda name: bool(SET_NAME.search(name)))
    alone = pl.DataFrame(
        {"call": on_host, "name": np.where(is_set, SET_TITLE, COPY_TITLE).astype(str)},
        schema={"call": pl.Int64, "name": pl.String},
    )
    both = pl.concat([launched.drop("one"), alone], how="diagonal")
    call = both["call"].to_numpy()
    cpu_ns = gather(trace.slices["dur_ns"].to_numpy(), call)
    call_code = np.where(call >= 0, names[call], both["launch_code"].fill_null(-1).to_numpy())
    return both.with_columns(
        row=pl.col("row").fill_null(-1),
        cpu_ns=pl.when(pl.col("call") >= 0).then(pl.Series(cpu_ns)),
        host_call_code=pl.when(pl.Series(call_code) >= 0).then(pl.Series(call_code)),
    )


def _titles(kinds: pl.Series) -> pl.Series:
    titles = {kind: f"{COPY_TITLE} {kind}" for kind in kinds.drop_nulls().unique().to_list()}
    titles[SET] = SET_TITLE
    return pl.Series([titles.get(kind, COPY_TITLE) for kind in kinds.to_list()], dtype=pl.String)


def memory_operations(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Copies and memsets of a selection by name and host call, in order of the first: ``name``,
    ``host_call``, ``calls``, the times of ``summed``, ``bytes``, ``sized_ns`` (of those with
    bytes).

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    operations = _operations(trace)
    if not selection.is_everything:
        hosts = np.append(slice_mask(trace, selection), False)[operations["call"].to_numpy()]
        work = np.append(device_work_mask(trace, selection), False)[operations["row"].to_numpy()]
        operations = operations.filter(
            pl.when(pl.col("call") >= 0).then(pl.Series(hosts)).otherwise(pl.Series(work))
        )
    figures = [
        expression.alias(f"{side}_{figure}_ns")
        for side in SIDES
        for time in (pl.col(f"{side}_ns"),)
        for figure, expression in zip(
            FIGURES,
            (
                pl.when(time.is_not_null().any()).then(time.sum()),
                time.mean(),
                time.max(),
                time.min(),
            ),
            strict=True,
        )
    ]
    groups = operations.group_by("name", "host_call_code", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        *figures,
        pl.when(pl.col("bytes").is_not_null().any()).then(pl.col("bytes").sum()).alias("bytes"),
        pl.col("sized_ns").sum(),
    )
    return groups.with_columns(host_call=codes.texts(trace, groups["host_call_code"]))
