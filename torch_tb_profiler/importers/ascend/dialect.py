"""Chrome JSON of Ascend's tools: no categories; the names of processes and threads classify
events."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.importers.kineto.categories import infer_category
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64, Track

HARDWARE = "Ascend Hardware"

ROWS: tuple[tuple[re.Pattern[str], re.Pattern[str], Category | None], ...] = (
    (re.compile(HARDWARE), re.compile("Step Trace"), Category.DEVICE_OTHER),
    (re.compile(HARDWARE), re.compile(""), None),
    (re.compile("(HCCL|Communication)$"), re.compile("Plane "), Category.DEVICE_OTHER),
    (re.compile("(HCCL|Communication)$"), re.compile(""), Category.KERNEL),
    (re.compile("(Overlap Analysis|Step Trace)$"), re.compile(""), Category.DEVICE_OTHER),
    (re.compile("CANN$"), re.compile(""), Category.RUNTIME),
    (re.compile("(Python GC|Scope Layer)$"), re.compile(""), Category.HOST_OTHER),
)
"""Process, thread → category; None: the category depends on the event's name. Planes hold the parts
of a collective; overlap and step rows repeat what other rows hold. Python's garbage collector and
MindSpore's scopes enclose operators and are not operators."""

TASKS: tuple[tuple[re.Pattern[str], Category], ...] = (
    (
        re.compile("(notify|event)[ _](wait|record|reset)|(write|wait) value", re.IGNORECASE),
        Category.DEVICE_SYNC,
    ),
    (re.compile("(REDUCE_ASYNC|SDMA$|PROFILING_|PLACE_HOLDER)"), Category.DEVICE_OTHER),
)
"""Device tasks that are not work: waits and signals, and the transfers of a collective, which the
slice of the collective covers."""


NOTIFY = re.compile("notify[ _](wait|record)", re.IGNORECASE)
"""Tasks with which collectives wait for other devices; compute streams wait for events instead."""


NPU = "NPU"
LAYER_BITS, DEVICE_BITS = 10, 5
"""A process number is that of the real process, the layer and the device; the layer has what lies
between these bits, and is the sort index, too."""


def device_of(track: Track) -> int | None:
    """The device in the process number of a row; None where the number has another form."""
    if not track.pid.isascii() or not track.pid.isdecimal() or int(track.pid) >> LAYER_BITS == 0:
        return None
    layer = (int(track.pid) & (1 << LAYER_BITS) - 1) >> DEVICE_BITS
    is_encoded = layer == track.process_sort_index
    return int(track.pid) & (1 << DEVICE_BITS) - 1 if is_encoded else None


def with_device(track: Track) -> Track:
    """The row with the number of its device in its label, which says that it is one of an NPU."""
    device = device_of(track)
    if device is None or track.process_label != NPU:
        return track
    return replace(track, process_label=f"{NPU} {device}")


def is_ascend(_header: Mapping[str, Any], tracks: Sequence[Track]) -> bool:
    """Whether a process has a name of :data:`ROWS`."""
    names = {track.process_name or "" for track in tracks}
    return any(process.match(name) for process, _, _ in ROWS for name in names)


def category(track: Track, name: str) -> Category | None:
    """The category of an event by :data:`ROWS`; None if no row matches."""
    for process, thread, row_category in ROWS:
        if process.match(track.process_name or "") and thread.match(track.thread_name or ""):
            return row_category or task_category(name)
    return None


def task_category(name: str) -> Category:
    """The category of a device task, by its name."""
    for task, kind_category in TASKS:
        if task.match(name):
            return kind_category
    return infer_category(name, on_device=True)


def copies_of_collectives(
    slices: ColumnArrays, strings: Sequence[str], tracks: Sequence[Track]
) -> Int64:
    """Rows of the copies that are transfers of collectives: those on streams that also notify other
    devices."""
    notifies = [code for code, name in enumerate(strings) if NOTIFY.match(name)]
    has_notify = np.zeros(len(tracks), np.bool_)
    has_notify[slices["track"][np.isin(slices["name_code"], notifies)]] = True
    has_notify &= [HARDWARE in (track.process_name or "") for track in tracks]
    is_copy = slices["category"] == Category.MEMCPY
    return np.flatnonzero(is_copy & has_notify[slices["track"]])


QUEUE_CATEGORIES = {"enqueue": Category.HOST_OTHER, "dequeue": Category.HOST_OTHER}
"""Ascend's categories that Kineto does not have: enqueueing and dequeueing of work."""


def _finalize(columns: EventColumns, own_tables: Mapping[str, ColumnArrays]) -> None:
    from torch_tb_profiler.importers.ascend.timeline import finalize_timeline  # noqa: PLC0415

    finalize_timeline(columns, own_tables)


DIALECT = Dialect(
    "ascend_trace",
    is_ascend,
    categories=QUEUE_CATEGORIES,
    infer_category=category,
    duplicate_rows=copies_of_collectives,
    thread_of=with_device,
    finalize=_finalize,
)
