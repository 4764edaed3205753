"""Keeps what was read of a file within its budget, whatever its format.

Views take time and memory for every track, distinct name and frame of a stack: a small file with
more of them than any recording has would take minutes and gigabytes. What exceeds a limit of
:mod:`torch_tb_profiler.budget` is cut here, with a quality note. Levels of nesting are cut where
slices are nested (:mod:`torch_tb_profiler.trace.levels`).
"""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.budget import Budget
from torch_tb_profiler.importers.cutting import keep_slices, used_tracks
from torch_tb_profiler.trace.columns import EventColumns, Int64

FRAME_SEPARATOR = ";"
"""Stands between the frames of a call stack, the innermost first."""

OTHER_NAMES = "(other names)"
_DIGITS = re.compile(r"\d+")


def keep_within_budget(columns: EventColumns) -> None:
    """Cut what exceeds a limit of ``columns.budget``, in place."""
    _limit_tracks(columns)
    _limit_names(columns)
    _limit_stacks(columns)


def _limit_tracks(columns: EventColumns) -> None:
    """Leave out the tracks with the fewest rows, and everything on them."""
    limit = columns.budget.count("tracks")
    if len(columns.tracks) <= limit:
        return
    holders = [table for table in columns.tables.values() if "track" in table]
    rows = np.zeros(len(columns.tracks), np.int64)
    for table in holders:
        valid = table["track"][table["track"] >= 0]
        rows += np.bincount(valid, minlength=len(rows))
    is_left_out = np.ones(len(rows) + 1, np.bool_)
    is_left_out[np.argsort(-rows, kind="stable")[:limit]] = False
    is_left_out[-1] = False  # rows of no track
    slices = columns.tables["slices"]
    for table in holders:
        is_selected = ~is_left_out[table["track"]]
        if table is not slices:
            for name in table:
                table[name] = table[name][is_selected]
    keep_slices(columns, ~is_left_out[slices["track"]])
    left_out = len(columns.tracks) - limit
    columns.tracks = used_tracks(columns.tables, columns.tracks)
    columns.quality.add("tracks_left_out", left_out, columns.budget.described("tracks"))


def _limit_names(columns: EventColumns) -> None:
    """Merge the rarest names of slices: their digits become ``#``, and if that is not enough, they
    have one name in common."""
    limit = columns.budget.count("names")
    if len(columns.strings) <= limit:
        return
    codes = columns.tables["slices"]["name_code"]
    calls = np.bincount(codes[codes >= 0], minlength=len(columns.strings))
    used = np.flatnonzero(calls)
    if len(used) <= limit:
        return
    by_calls = used[np.argsort(-calls[used], kind="stable")]
    remaining, merged = by_calls[: limit // 2], by_calls[limit // 2 :]
    new_code = np.arange(len(columns.strings) + 1)
    new_code[-1] = -1
    strings, known = columns.strings, {columns.strings[code]: code for code in remaining.tolist()}
    for code in merged.tolist():
        stem = _DIGITS.sub("#", strings[code])
        if stem not in known and len(known) >= limit:
            stem = OTHER_NAMES
        if stem not in known:
            known[stem] = len(strings)
            strings.append(stem)
        new_code[code] = known[stem]
    columns.tables["slices"]["name_code"] = new_code[codes].astype(codes.dtype)
    columns.quality.add("names_merged", len(merged), columns.budget.described("names"))


def _limit_stacks(columns: EventColumns) -> None:
    """Leave out the outermost frames of call stacks."""
    codes = columns.tables["operator"]["call_stack_code"]
    used = np.unique(codes[codes >= 0])
    if not len(used):
        return
    strings = columns.strings
    frames = np.array([strings[code].count(FRAME_SEPARATOR) + 1 for code in used.tolist()])
    most = most_frames(frames, columns.budget)
    is_cut = frames > most
    if not is_cut.any():
        return
    new_code = np.arange(len(strings) + 1)
    new_code[-1] = -1
    for code in used[is_cut].tolist():
        new_code[code] = len(strings)
        strings.append(FRAME_SEPARATOR.join(strings[code].split(FRAME_SEPARATOR, most)[:most]))
    columns.tables["operator"]["call_stack_code"] = new_code[codes].astype(codes.dtype)
    key = "stack_frames" if most == columns.budget.count("stack_frames") else "all_stack_frames"
    columns.quality.add("stacks_cut", int(is_cut.sum()), columns.budget.described(key))


def most_frames(frames: Int64, budget: Budget) -> int:
    """How many frames a stack may have, so that all keep within the budget together.

    Args:
        frames: Frames of each distinct stack.
        budget: The limits.
    """
    most, allowed = budget.count("stack_frames"), budget.count("all_stack_frames")
    while most > 1 and int(np.minimum(frames, most).sum()) > allowed:
        most = most * 3 // 4
    return most
