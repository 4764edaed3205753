"""Ascend's own answer, the rows of Overlap Analysis, against the tasks of the same timeline."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from torch_tb_profiler.importers.ascend.collectives import OPERATION
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, EventColumns, Int64

PROCESS = "Overlap Analysis"
HCCL = re.compile("(HCCL|Communication)$")
"""Processes of collectives, also of those that are called after operators of a graph."""

COMPUTING, COMMUNICATION = "Computing", "Communication"
MAX_DIFFERENCE = 0.01


def check_overlap(columns: EventColumns) -> None:
    """Tell ``quality`` of sums that differ."""
    table, strings = columns.tables["slices"], columns.strings
    rows = np.array([track.process_name == PROCESS for track in columns.tracks], np.bool_)
    if not rows.any():
        return
    is_own = rows[table["track"]]
    own = {
        name: int(table["dur_ns"][is_own & _called(table["name_code"], strings, name)].sum())
        for name in (COMPUTING, COMMUNICATION)
    }
    compare(columns, own)


def compare(columns: EventColumns, own_ns: Mapping[str, int]) -> None:
    """Tell ``quality`` where the recorder's sums of computing and communication are others.

    Args:
        columns: The trace.
        own_ns: Name of a sum → the recorder's, ns.
    """
    table = columns.tables["slices"]
    is_kernel = table["category"] == Category.KERNEL
    is_hccl = np.zeros(len(columns.strings) + 1, np.bool_)
    for code in np.unique(table["name_code"][is_kernel]).tolist():
        is_hccl[code] = OPERATION.match(columns.strings[code]) is not None
    on_hccl = [HCCL.search(track.process_name or "") is not None for track in columns.tracks]
    communicates = is_kernel & (is_hccl[table["name_code"]] | np.array(on_hccl)[table["track"]])
    for name, chosen in (
        (COMPUTING, is_kernel & ~communicates),
        (COMMUNICATION, communicates),
    ):
        ours = _covered(table["start_ns"][chosen], table["dur_ns"][chosen])
        given = own_ns.get(name, 0)
        if given and abs(ours - given) > MAX_DIFFERENCE * max(ours, given):
            example = f"{name}: {given / 1000:.0f} µs there, {ours / 1000:.0f} µs by the tasks"
            columns.quality.add("ascend_overlap_differs", 1, example)


def _called(codes: Int64, strings: list[str], name: str) -> Bools:
    is_it: Bools = codes == (strings.index(name) if name in strings else -2)
    return is_it


def _covered(start: Int64, dur: Int64) -> int:
    """Time in any of these intervals."""
    if not len(start):
        return 0
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + dur)[order]
    before = np.maximum.accumulate(end)
    before = np.concatenate(([start[0]], before[:-1]))
    return int(np.maximum(end - np.maximum(start, before), 0).sum())
