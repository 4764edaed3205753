"""Links between ranks that are slower than others of their kind, as files of a recording say."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.reported_by_profiler import rows_of_steps
from torch_tb_profiler.evidence.finding import plain_evidence, shorten
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.recorded_ranks import recorded_ranks_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, Note, TableSpec

CODE = "slow_link"
MAX_ROWS = 50
EVIDENCE = TableSpec(
    CODE,
    "Links as recorded",
    "One row per pair of ranks and kind of link, the slowest first.",
    (
        Column("source_rank", "From", "integer", None, "Sending rank."),
        Column("destination_rank", "To", "integer", None, "Receiving rank."),
        Column("transport", "Link", "string", None, "Kind of link."),
        Column("size_bytes", "Size", "number", "bytes", "Transferred data."),
        Column("time_us", "Time", "number", "us", "Transfer time."),
        Column("bandwidth_gb_per_s", "Bandwidth", "number", "gb_per_s", "Size over Time."),
        Column(
            "median_gb_per_s",
            "Median",
            "number",
            "gb_per_s",
            "Median bandwidth of the links of this kind.",
        ),
        Column("slower_pct", "Slower", "number", "pct", "How much less than the median it moves."),
    ),
)
_PAIR = ["source_rank", "destination_rank", "transport"]


def slow_link(traces: Mapping[str, Trace], selection: Selection) -> Note | None:
    """A note on the slowest link, where it is slower than the median of its kind by more than the
    threshold.

    Raises:
        SelectionError: steps that are malformed or in no worker.
    """
    parts, sources = [], []
    for trace in traces.values():
        side = trace.side.get("links")
        if side is not None:
            sources.append(side.source)
            parts.append(rows_of_steps(trace, selection, side.frame, "step"))
    if not parts:
        return None
    limits = recorded_ranks_file()
    rows = _compared(pl.concat(parts))
    slow = rows.filter(pl.col("slower_pct") > limits.slower_pct)
    if not slow.height:
        return None
    worst = slow.row(0, named=True)
    text = limits.links.text.format(
        source_rank=worst["source_rank"],
        destination_rank=worst["destination_rank"],
        transport=shorten(worst["transport"]),
        value=worst["bandwidth_gb_per_s"],
        median=worst["median_gb_per_s"],
        differs=worst["slower_pct"],
        threshold=limits.slower_pct,
        source=sources[0],
    )
    table = build_table(EVIDENCE, rows.head(MAX_ROWS))
    source = {"view": "distributed", "table": "links", "sort": "bandwidth_gb_per_s"}
    evidence = plain_evidence(limits.links.title, table, source) | {
        "measured": worst["slower_pct"],
        "unit": "pct",
        "threshold": limits.slower_pct,
    }
    return Note("advice", CODE, "warning", text, evidence)


def _compared(links: pl.DataFrame) -> pl.DataFrame:
    """The rows of :data:`EVIDENCE`: pairs of different ranks with transfers of similar size, where
    there are enough of their kind."""
    limits = recorded_ranks_file()
    size, time = pl.col("size_bytes"), pl.col("time_us")
    pairs = (
        links.filter(
            pl.col("source_rank") != pl.col("destination_rank"),
            pl.col("transport").is_not_null(),
            size > 0,
            time > 0,
        )
        .group_by(_PAIR)
        .agg(size.sum(), time.sum(), usual=size.mean())
        .filter(
            pl.col("usual") >= limits.least_size_share * pl.col("usual").median().over("transport")
        )
        .filter(pl.len().over("transport") >= limits.least_links)
    )
    rate = pl.col("bandwidth_gb_per_s")
    rows = pairs.with_columns(bandwidth_gb_per_s=size / time / 1e3).with_columns(
        median_gb_per_s=rate.median().over("transport"),
        slower_pct=(1 - rate / rate.median().over("transport")) * 100,
    )
    return rows.sort("slower_pct", *_PAIR, descending=[True, False, False, False])
