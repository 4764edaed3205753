"""What came without a category that is known: settled by row, arguments and name.

Ascend's tools write no categories at all: there the name of the process tells (formats.md §2.2).
"""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.importers.kineto.categories import UNKNOWN, category_without_word
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, DEVICE_LABEL, Table, Track
from torch_tb_profiler.trace.quality import QualityReport

DEVICE_ROW = re.compile(r"(GPU|NPU|XPU|MTIA|HPU)\b")
"""A label of a process whose rows are a device's, with or without its number."""

ASCEND_HARDWARE = "Ascend Hardware"
ASCEND_ROWS: tuple[tuple[re.Pattern[str], re.Pattern[str], Category | None], ...] = (
    (re.compile("Ascend Hardware"), re.compile("Step Trace"), Category.DEVICE_OTHER),
    (re.compile("Ascend Hardware"), re.compile(""), None),
    (re.compile("(HCCL|Communication)$"), re.compile("Plane "), Category.DEVICE_OTHER),
    (re.compile("(HCCL|Communication)$"), re.compile(""), Category.KERNEL),
    (re.compile("(Overlap Analysis|Step Trace)$"), re.compile(""), Category.DEVICE_OTHER),
    (re.compile("CANN$"), re.compile(""), Category.RUNTIME),
)
"""Process, thread → category, None for the one that the name tells. Planes are the parts of the
collective above them; overlap and step rows tell again what other rows hold."""


def settle_unsorted(
    tables: dict[str, Table], strings: list[str], tracks: list[Track], quality: QualityReport
) -> None:
    """Give every slice of :data:`UNKNOWN` category one, in place; each kind of row once."""
    slices, device = tables["slices"], tables["device"]
    category = slices["category"]
    rows = np.flatnonzero(category == UNKNOWN)
    if not rows.size:
        return
    has_word = slices["raw_category_code"][rows] >= 0
    quality.add("unknown_category", int(has_word.sum()))
    quality.add("missing_category", int((~has_word).sum()))
    with_both = (device["device"] != ABSENT) & (device["stream"] != ABSENT)
    by_args = np.isin(rows, device["slice"][with_both])
    keys = np.stack([slices["track"][rows], slices["name_code"][rows], has_word, by_args], axis=1)
    kinds, kind = np.unique(keys, axis=0, return_inverse=True)
    found = [
        _category(tracks[track], strings[name], has_word=bool(word), on_device=bool(args))
        for track, name, word, args in kinds.tolist()
    ]
    category[rows] = np.array(found, np.int8)[kind.reshape(-1)]
    modules = tables["python"]["slice"][tables["python"]["module_id"] != ABSENT]
    category[modules] = Category.MODULE
    if any(track.process_name == ASCEND_HARDWARE for track in tracks):
        quality.add("ascend_trace")


def _category(track: Track, name: str, *, has_word: bool, on_device: bool) -> Category:
    """By formats.md §1.6: a row of "GPU n", or device and stream among the arguments, is device
    work; a row of a device without number counts where the file gives no category at all.
    """
    label = track.process_label or ""
    for process, thread, category in ASCEND_ROWS:
        if process.match(track.process_name or "") and thread.match(track.thread_name or ""):
            return category or category_without_word(name, on_device=True)
    row = DEVICE_LABEL if has_word else DEVICE_ROW
    if on_device or row.match(label):
        return category_without_word(name, on_device=True)
    return Category.HOST_OTHER if has_word else category_without_word(name, on_device=False)
