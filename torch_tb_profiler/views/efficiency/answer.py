"""How close the model comes to the peak, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The share of the peak, and the row with the largest saving at its roofline limit."""
    known = joined((_model(view), _largest_saving(rows_of(view, "operators"))))
    reasons = (fact.reason for fact in view.facts if fact.key == "mfu_pct")
    return known or _recorded(view) or next(reasons, None)


def _model(view: View) -> str | None:
    for key, least in (("mfu_pct", ""), ("mfu_min_pct", "at least ")):
        shares = [fact.value for fact in view.facts if fact.key == key]
        share = shares[-1] if shares else None  # the mean of several devices comes last
        if isinstance(share, float) and (not least or share >= 0.05):
            name, dtype = (value_of(view, each) for each in ("device_name", "peak_type"))
            peak = f"the peak of {quoted(str(name))}" if name else "the peak"
            kind = f" for {dtype}" if dtype else ""
            return f"The model reaches {least}{percent_text(share)} of {peak}{kind}."
    return None


def _largest_saving(rows: pl.DataFrame) -> str | None:
    first = top_row(rows, "recoverable_us")
    if first is None:
        return _largest(rows)
    time = duration_text(first["recoverable_us"])
    text = f"At its roofline limit, {quoted(first['name'])} would save {time} of GPU time (est.)"
    share = first["roof_pct"]
    return f"{text}: it runs at {percent_text(share)} of that limit." if share else f"{text}."


def _largest(rows: pl.DataFrame) -> str | None:
    """Where no limit is known: the row with the most device time."""
    first = top_row(rows, "device_time_pct")
    if first is None:
        return None
    share = percent_text(first["device_time_pct"])
    return f"{quoted(first['name'])} takes {share} of the GPU time; its limit is unknown."


def _recorded(view: View) -> str | None:
    first = top_row(rows_of(view, "recorded_operators"), "total_us")
    if first is None:
        return None
    name = quoted(first["name"] or first["type"] or first["unit"] or "unknown")
    time, source = duration_text(first["total_us"]), quoted(first["source"])
    return f"{name} takes the most time, {time}, as {source} sums it."
