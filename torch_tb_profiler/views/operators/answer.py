"""Which operator costs the most, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import joined, largest_part, rows_of, value_of
from torch_tb_profiler.views.scales import percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The operator with the largest self time on devices (on the host where nothing ran there)."""
    on_device = (value_of(view, "device_self_us") or 0) > 0
    time, whole = "host_self_us", "the host time of operators"
    if on_device:
        time, whole = "device_self_us", "the GPU time"
    outside = value_of(view, "operator_device_time_pct")
    rows = rows_of(view, "operators").filter(pl.col("kind") != "unlinked")
    outside_text = None
    if on_device and outside is not None and outside < 99:
        outside_text = f"{percent_text(100 - outside)} of the GPU time belongs to no operator."
    return joined((largest_part(rows, name="name", time=time, whole=whole), outside_text))
