"""Which module, range or frame takes the most time, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

_NOUNS = {"modules": "modules", "ranges": "ranges", "call_stacks": "frames"}


def answer(view: View) -> str | None:
    """The group without groups inside that takes most time, and the time outside all groups."""
    rows = rows_of(view, "groups")
    groups = rows.filter(pl.col("kind") == "group") if rows.height else rows
    if not groups.height:
        return None
    leaves = groups.filter(~pl.col("path").is_in(groups["parent"].drop_nulls().implode()))
    noun = _noun(view)
    outside = value_of(view, "gpu_time_outside_pct") or 0
    for side, word in (("gpu", "GPU"), ("cpu", "host")):
        row = top_row(leaves, f"{side}_total_us")
        if row is not None:
            share = f" ({percent_text(row['gpu_pct'])})" if side == "gpu" and row["gpu_pct"] else ""
            time = duration_text(row[f"{side}_total_us"])
            name = quoted(row["name"])
            return joined(
                (
                    f"Of the innermost {noun}, {name} takes the most {word} time: {time}{share}.",
                    f"{percent_text(outside)} of the GPU time is outside all {noun}."
                    if outside >= 0.05
                    else None,
                )
            )
    return None


def _noun(view: View) -> str:
    rows = rows_of(view, "hierarchies")
    shown = rows.filter("shown") if rows.height else rows
    return _NOUNS.get(shown["hierarchy"][0], "groups") if shown.height else "groups"
