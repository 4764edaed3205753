"""Times below the microsecond: ``ts`` has whole microseconds, arguments have the exact starts.

Without them, two events in the same microsecond would overlap, and an event could begin before the
one that contains it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from torch_tb_profiler.importers.kineto.times import text_to_ns
from torch_tb_profiler.importers.paddle.late_starts import order_late_starts
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Int64

EXACT_KEY = b'"start_time"'
EXACT_START = "exact_start"
"""The table of a batch, and the field of its arguments."""

PATTERN = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) (ns|us|ms|s)")
NS_OF_UNIT = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}
MICROSECONDS = " us"
MAX_MICROSECONDS = 1e12
"""Up to here a double is exact to a nanosecond."""

TICK_NS = 1000
SINGLE_PRECISION = 2**-23
"""Paddle prints times that have single precision."""

EXACT_NS = 4
MAX_SINCE_NS = int(EXACT_NS / SINGLE_PRECISION)
"""Later starts (after 34 ms) may be off by more than that."""


def exact_starts(texts: list[Any], rows: Int64) -> ColumnArrays | None:
    """``slice`` and ``since_ns`` (time since the first event of the file) of the slices that have
    it; None if the first slice does not."""
    if texts[0] is None:
        return None
    since = _microseconds(texts)
    if since is None:
        since = np.array([_to_ns(text) for text in texts], np.int64)
    is_known = since != ABSENT
    return {"slice": rows[is_known], "since_ns": since[is_known]}


def _microseconds(texts: list[Any]) -> Int64 | None:
    """The times if all are microseconds, as Paddle writes them; else None."""
    if not all(type(text) is str and text.endswith(MICROSECONDS) for text in texts):
        return None
    try:
        numbers = np.array([text[: -len(MICROSECONDS)] for text in texts], np.float64)
    except ValueError:
        return None
    if not np.all((numbers >= 0) & (numbers < MAX_MICROSECONDS)):
        return None
    return np.rint(numbers * NS_OF_UNIT["us"]).astype(np.int64)


def _to_ns(text: Any) -> int:
    match = PATTERN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return ABSENT
    return text_to_ns(match[1]) * NS_OF_UNIT[match[2]] // NS_OF_UNIT["us"]


def refine_starts(slices: ColumnArrays, exact: ColumnArrays) -> None:
    """Set the exact starts of slices, in place.

    ``ts`` is the exact time cut to whole microseconds. Its distance to the time since the first
    event is the same for all slices, apart from that microsecond and rounding; otherwise the
    arguments mean something else and nothing is changed.
    """
    rows, since = exact["slice"], exact["since_ns"]
    is_early = since < MAX_SINCE_NS
    if not is_early.any():
        return
    ticks = slices["start_ns"][rows]
    rounding = (since * SINGLE_PRECISION).astype(np.int64) + 1
    least = int((ticks - since - rounding).max())
    most = int((ticks - since + rounding).min()) + TICK_NS - 1
    if least > most:
        return
    distance = np.clip((ticks - since)[is_early].max(), least, most)
    early = np.clip(since + distance, ticks, ticks + TICK_NS - 1)
    slices["start_ns"][rows[is_early]] = early[is_early]
    late = np.flatnonzero(~is_early)
    if len(late):
        bounds = (since - rounding + least, since + rounding + most)
        within = (np.clip(each, ticks, ticks + TICK_NS - 1)[late] for each in bounds)
        order_late_starts(slices, rows[late], *within)


def holders(slices: ColumnArrays, memory: ColumnArrays, preceding: Int64) -> Int64:
    """The slice that each memory event belongs to, negative for none.

    Args:
        slices: The slices, in order of the file.
        memory: The memory events likewise.
        preceding: The slice before each event in the file, negative for none: Paddle writes a host
            event, its calls, the work they launched, and its memory events.
    """
    others = (Category.RUNTIME, *DEVICE_CATEGORIES)
    hosts = np.flatnonzero(~np.isin(slices["category"], [int(category) for category in others]))
    position = np.searchsorted(hosts, preceding, "right") - 1
    owner = hosts[np.maximum(position, 0)] if hosts.size else np.zeros(position.size, np.int64)
    has_owner = (position >= 0) & (preceding >= 0)
    has_owner[has_owner] = slices["track"][owner[has_owner]] == memory["track"][has_owner]
    return np.where(has_owner, owner, ABSENT)


def refine_memory(slices: ColumnArrays, memory: ColumnArrays, holder: Int64) -> None:
    """Move memory events within their microsecond, in place: to its middle, or into the host event
    that they belong to.

    Args:
        slices: The slices, with exact starts.
        memory: The memory events, whose times are cut to whole microseconds.
        holder: From :func:`holders`.
    """
    has_owner = holder >= 0
    owner = holder
    tick = memory["time_ns"]
    time = tick + TICK_NS // 2
    start = slices["start_ns"][owner[has_owner]]
    end = start + slices["dur_ns"][owner[has_owner]]
    time[has_owner] = np.clip(time[has_owner], start, end)
    memory["time_ns"] = np.clip(time, tick, tick + TICK_NS - 1)
