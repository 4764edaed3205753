"""Chrome JSON of Ascend's tools: rows without categories, of processes whose names tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from torch_tb_profiler.importers.ascend.settle import settle
from torch_tb_profiler.importers.kineto.categories import category_without_word
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays, Int64, Track

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
"""Process, thread → category, None for the one that the name tells. Planes are the parts of the
collective above them; overlap and step rows tell again what other rows hold. Python's collector and
MindSpore's scopes lie around operators and are none."""

TASKS: tuple[tuple[re.Pattern[str], Category], ...] = (
    (
        re.compile("(notify|event)[ _](wait|record|reset)|(write|wait) value", re.IGNORECASE),
        Category.DEVICE_SYNC,
    ),
    (re.compile("(REDUCE_ASYNC|SDMA$|PROFILING_|PLACE_HOLDER)"), Category.DEVICE_OTHER),
)
"""Tasks of a device that compute nothing: waits and signals, and the transfers of a collective,
which the row of the collective tells as a whole."""


NOTIFY = re.compile("notify[ _](wait|record)", re.IGNORECASE)
"""Tasks by which collectives wait for other devices; computing waits for events."""


def is_ascend(_header: Mapping[str, Any], tracks: Sequence[Track]) -> bool:
    """A process is called as Ascend's tools call the device, their library or their analyses."""
    names = {track.process_name or "" for track in tracks}
    return any(process.match(name) for process, _, _ in ROWS for name in names)


def category(track: Track, name: str) -> Category | None:
    """By :data:`ROWS`."""
    for process, thread, of_row in ROWS:
        if process.match(track.process_name or "") and thread.match(track.thread_name or ""):
            return of_row or task_category(name)
    return None


def task_category(name: str) -> Category:
    """Of a task of the device, by its name."""
    for task, of_task in TASKS:
        if task.match(name):
            return of_task
    return category_without_word(name, on_device=True)


def copies_of_collectives(
    slices: ColumnArrays, strings: Sequence[str], tracks: Sequence[Track]
) -> Int64:
    """Copies on streams of the device where collectives notify other devices: the transfers of
    these collectives."""
    notifies = [code for code, name in enumerate(strings) if NOTIFY.match(name)]
    of_collectives = np.zeros(len(tracks), np.bool_)
    of_collectives[slices["track"][np.isin(slices["name_code"], notifies)]] = True
    of_collectives &= [HARDWARE in (track.process_name or "") for track in tracks]
    is_copy = slices["category"] == Category.MEMCPY
    return np.flatnonzero(is_copy & of_collectives[slices["track"]])


WORDS = {"enqueue": Category.HOST_OTHER, "dequeue": Category.HOST_OTHER}
"""Its categories that are none of Kineto's: what puts work on a queue, and takes it off."""

DIALECT = Dialect(
    "ascend_trace",
    is_ascend,
    words=WORDS,
    category=category,
    told_again=copies_of_collectives,
    settle=settle,
)
