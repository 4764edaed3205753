"""Whether copies cost time, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import counted, rows_of, top_row
from torch_tb_profiler.views.scales import duration_text, percent_text, size_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The time of copies, how much of it no kernel hides, and the kind with most of it."""
    copying, exposed = (_summed(view, key) for key in ("copying_us", "exposed_us"))
    rows = rows_of(view, "copies_by_kind")
    if not copying or not rows.height:
        return None
    kinds = rows.group_by("kind", "host_memory", maintain_order=True).agg(
        pl.col("total_us", "calls", "total_bytes").sum()
    )
    first = top_row(kinds, "total_us")
    if first is None:
        return None
    alone = f"in {percent_text(100 * exposed / copying)} of that time no kernel runs"
    alone = "no kernel runs meanwhile" if exposed == copying else alone
    amount = counted(first["calls"], "copy", "copies")
    if first["total_bytes"]:
        amount = f"{size_text(first['total_bytes'])} in {amount}"
    memory = f" ({first['host_memory']} memory)" if first["host_memory"] else ""
    kind = f"{first['kind']}{memory}" if first["kind"] else "in a direction that is not recorded"
    return f"Copies take {duration_text(copying)} of GPU time; {alone}. Most is {kind}: {amount}."


def _summed(view: View, key: str) -> float:
    values = (fact.value for fact in view.facts if fact.key == key)
    return sum(float(value) for value in values if isinstance(value, int | float))
