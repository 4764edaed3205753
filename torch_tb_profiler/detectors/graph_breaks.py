"""Compiled code is left and entered again inside a step: graph breaks."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.host_marks import host_marks, in_steps, lost_time, slice_intervals
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, build_table, sum_calls
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "graph_breaks"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "Regions after a graph break",
    "One row per compiled region that is called inside another one, those called most often first.",
    (Column("region", "Region", "string", None, "The compiled region."), CALLS, TOTAL_US),
)


def detect(context: Context) -> Finding | None:
    """A step calls more compiled regions inside other ones than the threshold, and entering them
    takes a noticeable part of it. Code after a graph break is a separate region, called by the code
    before the break.

    The gain is the time of entering them; if device work is recorded, the part in which no device
    works.
    """
    resumed = in_steps(context, _resumed(context.trace))
    per_step = context.per_step(float(resumed.height))
    known = entry(CODE)
    if per_step <= known.threshold:
        return None
    entering = slice_intervals(_entering(context.trace))
    time = context.within_steps(lost_time(context.trace, entering))
    lost_ns = context.per_step_ns(time)
    if context.share_pct(lost_ns) <= known.parameters["min_step_share_pct"]:
        return None
    rows = sum_calls(resumed, "name_code").sort("calls", descending=True, maintain_order=True)
    rows = rows.with_columns(region=context.texts(rows["name_code"]))
    longest = resumed.row(int(resumed["dur_ns"].to_numpy().argmax()), named=True)
    start_ns = longest["start_ns"]
    return Finding(
        CODE,
        per_step,
        lost_ns / NS_PER_US,
        values={"entering": context.share_pct(lost_ns)},
        evidence=build_table(EVIDENCE, rows.head(MAX_ROWS)),
        source={
            "view": "operators",
            "table": "operators",
            "filter": "name~Torch-Compiled Region",
            "sort": "-host_total_us",
        },
        time=time,
        spot=context.spot(start_ns, start_ns + longest["dur_ns"], longest["id"]),
    )


@per_trace
def _resumed(trace: Trace) -> pl.DataFrame:
    """The calls of compiled regions inside other regions."""
    regions = host_marks(trace)["region"]
    return regions.filter(pl.Series(_inside_region(trace, regions, indices(regions["parent"]))))


@per_trace
def _entering(trace: Trace) -> pl.DataFrame:
    """The slices that enter such regions: the lookup in the surrounding region, and the prologue
    of the region itself."""
    marks, resumed = host_marks(trace), _resumed(trace)
    lookups, entries = marks["lookup"], marks["entry"]
    return pl.concat(
        [
            lookups.filter(
                pl.Series(_inside_region(trace, marks["region"], lookups["id"].to_numpy()))
            ),
            entries.filter(entries["parent"].is_in(resumed["id"].implode())),
        ]
    )


def _inside_region(trace: Trace, regions: pl.DataFrame, slices: Int64) -> Bools:
    """Mask of the slices (-1 for none) that start inside a region, or are one."""
    around = innermost_around_start(trace, regions["id"].to_numpy(), slices)
    inside: Bools = around >= 0
    return inside
