"""Compares the rows of Ascend's Overlap Analysis with the tasks of the same timeline."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from torch_tb_profiler.importers.ascend.collectives import OPERATION
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, EventColumns, Int64

PROCESS = "Overlap Analysis"
HCCL = re.compile("(HCCL|Communication)$")
"""Processes of collectives, including collectives that are named after operators of a graph."""

COMPUTING, COMMUNICATION = "Computing", "Communication"
MAX_DIFFERENCE = 0.01


def check_overlap(columns: EventColumns) -> None:
    """Compare the sums of the Overlap Analysis rows of a timeline, if it has them."""
    table, strings = columns.tables["slices"], columns.strings
    rows = np.array([track.process_name == PROCESS for track in columns.tracks], np.bool_)
    if not rows.any():
        return
    is_analysis = rows[table["track"]]
    reported = {
        name: int(table["dur_ns"][is_analysis & _has_name(table["name_code"], strings, name)].sum())
        for name in (COMPUTING, COMMUNICATION)
    }
    compare_overlap(columns, reported)


def compare_overlap(columns: EventColumns, reported_ns: Mapping[str, int]) -> None:
    """Add a quality issue where the recorder's times of computing and communication differ.

    Args:
        columns: The trace.
        reported_ns: Computing or communication → the recorder's time, ns.
    """
    table = columns.tables["slices"]
    is_kernel = table["category"] == Category.KERNEL
    is_hccl = np.zeros(len(columns.strings) + 1, np.bool_)
    for code in np.unique(table["name_code"][is_kernel]).tolist():
        is_hccl[code] = OPERATION.match(columns.strings[code]) is not None
    on_hccl = [HCCL.search(track.process_name or "") is not None for track in columns.tracks]
    is_communication = is_kernel & (is_hccl[table["name_code"]] | np.array(on_hccl)[table["track"]])
    for name, chosen in (
        (COMPUTING, is_kernel & ~is_communication),
        (COMMUNICATION, is_communication),
    ):
        computed = _union_ns(table["start_ns"][chosen], table["dur_ns"][chosen])
        reported = reported_ns.get(name, 0)
        if reported and abs(computed - reported) > MAX_DIFFERENCE * max(computed, reported):
            times_us = f"{reported / 1000:.0f} µs reported, {computed / 1000:.0f} µs from the tasks"
            columns.quality.add("ascend_overlap_differs", 1, f"{name}: {times_us}")


def _has_name(codes: Int64, strings: list[str], name: str) -> Bools:
    has_name: Bools = codes == (strings.index(name) if name in strings else -2)
    return has_name


def _union_ns(start: Int64, dur: Int64) -> int:
    """Length of the union of intervals."""
    if not len(start):
        return 0
    order = np.argsort(start, kind="stable")
    start, end = start[order], (start + dur)[order]
    before = np.maximum.accumulate(end)
    before = np.concatenate(([start[0]], before[:-1]))
    return int(np.maximum(end - np.maximum(start, before), 0).sum())
