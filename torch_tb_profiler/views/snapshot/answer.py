"""What the allocator holds, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import (
    counted,
    joined,
    percent,
    quoted,
    rows_of,
    top_row,
    value_of,
)
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The device with most reserved memory: what is in use, the failed allocation if there is one,
    else the code that holds most at the peak."""
    first = top_row(rows_of(view, "devices"), "reserved_bytes")
    if first is None:
        return None
    reserved, used = (size_text(first[key]) for key in ("reserved_bytes", "allocated_bytes"))
    return joined(
        (
            f"{first['device']} uses {used} of {reserved} reserved memory.",
            _failure(view, first) or _holder(view, first["device"]),
        )
    )


def _failure(view: View, device: dict[str, object]) -> str | None:
    ooms = device["ooms"]
    if not isinstance(ooms, int) or not ooms:
        return None
    text = f"{counted(ooms, 'allocation')} failed"
    size = value_of(view, "oom_requested_bytes", str(device["device"]))
    return f"{text}; the last one requested {size_text(size)}." if size else f"{text}."


def _holder(view: View, device: str) -> str | None:
    is_known = pl.col("frame").is_not_null() & (pl.col("moment") == "peak")
    most = top_row(rows_of(view, "by_stack"), "size_bytes", is_known, pl.col("device") == device)
    if most is None:
        return None
    name = quoted(most["frame"].rsplit("/", 1)[-1])
    share = "" if most["pct"] is None else f" ({percent(most['pct'])})"
    return f"At its peak, {name} holds the most: {size_text(most['size_bytes'])}{share}."
