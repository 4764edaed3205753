"""How much memory is used at the peak, and by what, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import counted, joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text, size_text
from torch_tb_profiler.views.schema import View

HOST = "CPU"


def answer(view: View) -> str | None:
    """The device with the largest peak (host memory only where there is no other), its capacity,
    the category with most of the peak, and what grows."""
    peaks, key = rows_of(view, "memory_peaks"), "peak_allocated_bytes"
    peak = top_row(peaks, key, pl.col("device") != HOST) or top_row(peaks, key)
    if peak is None:
        return _without_peak(view)
    text = f"{peak['device']} peaks at {size_text(peak['peak_allocated_bytes'])}"
    if peak["device_memory_bytes"]:
        text += f" of {size_text(peak['device_memory_bytes'])}"
    if (peak["peak_us"] or 0) > 0:
        text += f", {duration_text(peak['peak_us'])} after the start"
    return joined((f"{text}{_category(view, peak['device'])}.", _growth(view, peak["device"])))


def _category(view: View, device: str) -> str:
    rows = rows_of(view, "peak_categories")
    first = top_row(rows, "share_pct", pl.col("device") == device)
    if first is None:
        return ""
    if first["category"] == "unknown":
        if first["share_pct"] == 100:
            return (
                ""  # nothing is known of any of it, as in a snapshot: other tabs say who holds it
            )
        return f"; what holds {percent_text(first['share_pct'])} of it is unknown"
    name = first["category"].replace("_", " ")
    return f"; {percent_text(first['share_pct'])} of it is {name} memory (est.)"


def _growth(view: View, device: str) -> str | None:
    growth = value_of(view, "growth_per_pass_bytes", device)
    return f"It grows by {size_text(growth)} with each step." if growth and growth > 0 else None


def _without_peak(view: View) -> str | None:
    """The operator with most allocations where no totals are recorded."""
    first = top_row(rows_of(view, "memory_stats"), "self_allocation_bytes")
    if first is None:
        return None
    size = size_text(first["self_allocation_bytes"])
    total = f"{size} on {first['device']}"
    if first["self_allocation_count"]:
        total += f" in {counted(first['self_allocation_count'], 'allocation')}"
    return (
        f"{quoted(first['name'])} allocates the most memory: {total}, all summed. How much is in "
        "use at once is not recorded."
    )
