"""How much communication costs and who is late, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.programs import programs_sentence
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

_PARTS = ("computation_us", "overlap_us", "communication_us", "other_us")
ALL_STEPS = "all"


def answer(view: View) -> str | None:
    """The share of the step in which only communication runs, and the worker that is late."""
    return joined((_exposed(rows_of(view, "overlap")), _late(view), programs_sentence(view)))


def _exposed(rows: pl.DataFrame) -> str | None:
    steps = rows.filter(pl.col("step") == ALL_STEPS) if rows.height else rows
    known = steps.drop_nulls(_PARTS) if steps.height else steps
    if not known.height:
        return None
    whole = pl.sum_horizontal(_PARTS)
    shares = known.filter(whole > 0).select(
        "worker", pct=100 * pl.col("communication_us") / pl.sum_horizontal(_PARTS)
    )
    if not shares.height:
        return None
    lowest, highest = shares["pct"].min(), shares["pct"].max()
    assert isinstance(lowest, float)
    assert isinstance(highest, float)
    least, most = percent_text(lowest), percent_text(highest)
    share = least if least == most else f"{least} to {most}"
    return f"Communication that nothing overlaps takes {share} of the step."


def _late(view: View) -> str | None:
    if value_of(view, "worker_count") == 1:
        return "Only one worker is loaded, so who is late is unknown."
    first = top_row(rows_of(view, "stragglers"), "delay_us")
    if first is None:
        return "No worker is known to be late."
    times = f"in {first['arrived_last']:,} of {first['collectives']:,} collectives"
    delay = f"{duration_text(first['delay_us'])} in all (est.)"
    return f"{quoted(first['worker'])} arrives last {times} and holds the others up {delay}."
