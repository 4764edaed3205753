"""Which module takes the most time, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The module with the largest time of its own, forward and backward together."""
    rows = rows_of(view, "modules")
    modules = rows.filter(pl.col("kind") == "module") if rows.height else rows
    if not modules.height:
        return None
    for side, word in (("device", "GPU"), ("host", "host")):
        both = pl.sum_horizontal(f"{side}_self_us", f"backward_{side}_self_us", ignore_nulls=True)
        first = top_row(modules.with_columns(own_us=both), "own_us")
        if first is not None:
            text = f"{quoted(first['name'])} takes the most {word} time outside its submodules"
            return joined(
                (f"{text}: {duration_text(first['own_us'])}{_passes(first, side)}.", _covered(view))
            )
    return None


def _passes(row: dict[str, float | None], side: str) -> str:
    backward = row[f"backward_{side}_self_us"]
    if not backward:
        return ""
    share = duration_text(backward)
    return f", {'all' if share == duration_text(row['own_us'] or 0.0) else share} of it backward"


def _covered(view: View) -> str | None:
    share = value_of(view, "module_device_time_pct")
    if share is None or share > 99.95:
        return None
    return f"{percent_text(100 - share)} of the GPU time is launched outside modules."
