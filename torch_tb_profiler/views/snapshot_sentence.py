"""What the allocator of a memory snapshot holds, in a sentence: the answer of the snapshot's own
view, and of the overview of a recording that is a snapshot alone."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import (
    DeviceMoments,
    device_moments,
    label_of,
    size_by_stack,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.answering import counted, joined, quoted
from torch_tb_profiler.views.scales import percent_text, size_text


def snapshot_sentence(trace: Trace) -> str | None:
    """The device with most reserved memory: what is in use, the failed allocation if there is one,
    else what holds most at the peak. None where nothing is reserved."""
    segments, blocks = (side_frame(trace, f"snapshot_{name}") for name in ("segments", "blocks"))
    is_own = {each: pl.col("device") == each.device for each in device_moments(trace)}
    reserved = {
        each: int(segments.filter(own)["total_bytes"].sum()) for each, own in is_own.items()
    }
    first = max(reserved, key=lambda each: reserved[each], default=None)
    if first is None or not reserved[first]:
        return None
    in_use = blocks.filter(is_own[first], pl.col("state") == "active_allocated")
    used = size_text(int(in_use["size_bytes"].sum()))
    return joined(
        (
            f"{label_of(first.device)} uses {used} of {size_text(reserved[first])} reserved "
            "memory.",
            _failure(trace, first) if first.ooms else _holder(trace, first),
        )
    )


def _failure(trace: Trace, device: DeviceMoments) -> str:
    text = f"{counted(len(device.ooms), 'allocation')} failed"
    size = side_frame(trace, "snapshot_events")["size_bytes"][device.ooms[-1]]
    return f"{text}; the last one requested {size_text(size)}." if size else f"{text}."


def _holder(trace: Trace, device: DeviceMoments) -> str | None:
    """Who holds most at the peak; first the memory that is older than the recording, if more."""
    if device.peak < 0:
        return None
    rows = size_by_stack(trace, device, device.peak)
    frames = side_frame(trace, "snapshot_stacks")["frame"].to_list()
    known = [
        (frames[stack], row)
        for row, stack in enumerate(rows["stack"].to_list())
        if stack >= 0 and frames[stack] is not None
    ]
    name, first = known[0] if known else (None, rows.height)
    held = [
        f"{size_text(size)} ({percent_text(pct)})"
        for size, pct in rows.select("size_bytes", "pct").iter_rows()
    ]
    older = next((row for row, is_it in enumerate(rows["is_earlier"]) if is_it), None)
    parts = []
    if older is not None and older < first:
        parts.append(f"{held[older]} were allocated before the recording, by unknown code")
    if name is not None:
        most = f"{quoted(name.rsplit('/', 1)[-1])} holds the most: {held[first]}"
        parts.append(f"of the rest, {most}" if parts else most)
    return f"At its peak, {'; '.join(parts)}." if parts else None
