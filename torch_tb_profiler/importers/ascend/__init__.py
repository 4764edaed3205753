"""Chrome JSON of Ascend's tools (torch_npu, MindSpore): no categories, but telling process names.

Its rows are read; its links from host to device, which are flows, are not, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch_tb_profiler.importers.kineto.categories import category_without_word
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Track

HARDWARE = "Ascend Hardware"

ROWS: tuple[tuple[re.Pattern[str], re.Pattern[str], Category | None], ...] = (
    (re.compile(HARDWARE), re.compile("Step Trace"), Category.DEVICE_OTHER),
    (re.compile(HARDWARE), re.compile(""), None),
    (re.compile("(HCCL|Communication)$"), re.compile("Plane "), Category.DEVICE_OTHER),
    (re.compile("(HCCL|Communication)$"), re.compile(""), Category.KERNEL),
    (re.compile("(Overlap Analysis|Step Trace)$"), re.compile(""), Category.DEVICE_OTHER),
    (re.compile("CANN$"), re.compile(""), Category.RUNTIME),
)
"""Process, thread → category, None for the one that the name tells. Planes are the parts of the
collective above them; overlap and step rows tell again what other rows hold."""

WAIT = re.compile("(NOTIFY|EVENT)_(WAIT|RECORD|RESET)")
"""Tasks of a device that only wait."""


def is_ascend(_header: Mapping[str, Any], tracks: Sequence[Track]) -> bool:
    """A process is called as Ascend's tools call the device, their library or their analyses."""
    names = {track.process_name or "" for track in tracks}
    return any(process.match(name) for process, _, _ in ROWS for name in names)


def category(track: Track, name: str) -> Category | None:
    """By :data:`ROWS`."""
    for process, thread, of_row in ROWS:
        if process.match(track.process_name or "") and thread.match(track.thread_name or ""):
            if of_row is None and WAIT.match(name):
                return Category.DEVICE_SYNC
            return of_row or category_without_word(name, on_device=True)
    return None


DIALECT = Dialect("ascend_trace", is_ascend, category=category)
