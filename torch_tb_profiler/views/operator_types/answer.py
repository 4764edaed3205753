"""Which type of operators costs the most, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED
from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import percent_text
from torch_tb_profiler.views.schema import View

OTHER = "other"


def answer(view: View) -> str | None:
    """The two types with the largest shares, and the share of unknown types."""
    rows = rows_of(view, "operator_types")
    if not rows.height:
        return _as_recorded(view)
    named = rows.filter(pl.col("type").is_not_null(), pl.col("pct") > 0)
    named = named.sort("pct", descending=True, maintain_order=True).head(2)
    parts = [
        f"{quoted(_readable(row['type']))} ({percent_text(row['pct'])})"
        for row in named.iter_rows(named=True)
    ]
    whole = "GPU time" if (named["gpu_total_us"].sum() or 0) > 0 else "host time of operators"
    unknown = value_of(view, "unknown_type_pct") or 0
    return joined(
        (
            f"Most {whole} goes to {' and '.join(parts)}." if parts else None,
            f"The type of {percent_text(unknown)} of the operators' time is unknown."
            if unknown >= 0.05
            else None,
        )
    )


def _readable(type_name: str) -> str:
    """``"matrix product"``; of work outside operators the call or kernel that it is named after."""
    if type_name.startswith(UNASSOCIATED):
        return f"{type_name.removeprefix(UNASSOCIATED)} outside operators"
    return "other operators" if type_name == OTHER else type_name.replace("_", " ")


def _as_recorded(view: View) -> str | None:
    """The same of a file of the recording that sums operators."""
    first = top_row(rows_of(view, "recorded_types"), "total_us")
    if first is None:
        return None
    share = "" if first["pct"] is None else f" ({percent_text(first['pct'])})"
    name, unit = quoted(first["type"] or "unknown"), quoted(first["unit"] or "one unit")
    return f"As {quoted(first['source'])} sums them, {name} on {unit} takes the most time{share}."
