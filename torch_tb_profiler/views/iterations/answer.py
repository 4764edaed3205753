"""How long iterations take and how steady they are, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import counted, joined, rows_of, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

_KERNELS = ("tensor_core_us", "other_kernels_us")


def answer(view: View) -> str | None:
    """Mean, variation and slowest of the selected iterations, and how much of them kernels run."""
    rows = rows_of(view, "iterations")
    rows = rows.filter("selected") if rows.height else rows
    mean = value_of(view, "iteration_mean_us")
    if not rows.height or mean is None:
        return None
    number = counted(rows.height, "iteration")
    if rows.height == 1:
        return joined((f"{number} takes {duration_text(mean)}.", _kernels(rows)))
    variation = value_of(view, "iteration_variation_pct")
    spread = "" if variation is None else f" ± {percent_text(variation)}"
    slowest = rows.sort("duration_us", descending=True, maintain_order=True).row(0, named=True)
    text = f"{number} take {duration_text(mean)}{spread} on average; the slowest is "
    text += f"{slowest['iteration']} ({duration_text(slowest['duration_us'])})."
    return joined((text, _kernels(rows)))


def _kernels(rows: pl.DataFrame) -> str | None:
    """The share of the iterations in which kernels run, and that in which only the host works."""
    whole, host = (float(rows[key].sum()) for key in ("duration_us", "cpu_us"))
    kernels = sum(float(rows[key].sum()) for key in _KERNELS)
    if rows["other_kernels_us"].null_count() or not whole or not kernels:
        return None
    text = f"Kernels run in {percent_text(100 * kernels / whole)} of the time"
    return f"{text}; in {percent_text(100 * host / whole)} only the host works."
