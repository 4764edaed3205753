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
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES
from torch_tb_profiler.trace.columns import Bools, EventColumns, Int64

FRAME_SEPARATOR = ";"
"""Stands between the frames of a call stack, the innermost first."""

OTHER_NAMES = "(other names)"
CUT_CHARS = 200
"""What remains of a text where all together are too long."""

_CONTINUED = "…"
_DIGITS = re.compile(r"\d+")


def keep_within_budget(columns: EventColumns) -> None:
    """Cut what exceeds a limit of ``columns.budget``, in place."""
    _limit_tracks(columns)
    _limit_names(columns, "names")
    if len(columns.strings) > columns.budget.count("kernel_names"):
        categories = [int(each) for each in DEVICE_WORK_CATEGORIES]
        is_work = np.isin(columns.tables["slices"]["category"], categories)
        _limit_names(columns, "kernel_names", is_work)
    _limit_stacks(columns)
    _limit_arguments(columns)
    _limit_texts(columns)


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


def _limit_names(columns: EventColumns, key: str, is_limited: Bools | None = None) -> None:
    """Merge the rarest names of slices: their digits become ``#``, and if that is not enough, they
    have one name in common.

    Args:
        columns: The events.
        key: The limit.
        is_limited: For which slices it holds; None for all.
    """
    limit = columns.budget.count(key)
    if len(columns.strings) <= limit:
        return
    all_codes = columns.tables["slices"]["name_code"]
    rows = np.flatnonzero(all_codes >= 0 if is_limited is None else is_limited & (all_codes >= 0))
    codes = all_codes[rows]
    calls = np.bincount(codes, minlength=len(columns.strings))
    used = np.flatnonzero(calls)
    if len(used) <= limit:
        return
    by_calls = used[np.argsort(-calls[used], kind="stable")]
    remaining, merged = by_calls[: limit // 2], by_calls[limit // 2 :]
    new_code = np.arange(len(columns.strings))
    strings, known = columns.strings, {columns.strings[code]: code for code in remaining.tolist()}
    for code in merged.tolist():
        stem = _DIGITS.sub("#", strings[code])
        if stem not in known and len(known) >= limit:
            stem = OTHER_NAMES
        if stem not in known:
            known[stem] = len(strings)
            strings.append(stem)
        new_code[code] = known[stem]
    all_codes = all_codes.copy()
    all_codes[rows] = new_code[codes]
    columns.tables["slices"]["name_code"] = all_codes
    columns.quality.add("names_merged", len(merged), columns.budget.described(key))


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


def _limit_arguments(columns: EventColumns) -> None:
    """Leave out arguments with the rarest names, then those that come last."""
    table, budget = columns.tables["arguments"], columns.budget
    rows = np.bincount(table["key_code"])
    names, limit = np.flatnonzero(rows), budget.count("argument_names")
    if len(names) > limit:
        is_remaining = np.zeros(len(rows), np.bool_)
        is_remaining[names[np.argsort(-rows[names], kind="stable")[:limit]]] = True
        _keep_arguments(columns, is_remaining[table["key_code"]], "argument_names")
    count, limit = len(table["key_code"]), budget.count("arguments")
    if count > limit:
        _keep_arguments(columns, np.arange(count) < limit, "arguments")


def _keep_arguments(columns: EventColumns, is_remaining: Bools, key: str) -> None:
    table = columns.tables["arguments"]
    for name in table:
        table[name] = table[name][is_remaining]
    left_out = int(np.count_nonzero(~is_remaining))
    columns.quality.add("arguments_left_out", left_out, columns.budget.described(key))


def _limit_texts(columns: EventColumns) -> None:
    """Cut the longest texts, until all together keep within the limit, or have been cut. Texts that
    differ still do afterwards: a number follows where what remains of them is equal."""
    strings, limit = columns.strings, columns.budget.count("all_text_chars")
    if len(strings) * columns.budget.count("text_chars") <= limit:
        return
    sizes = np.fromiter(map(len, strings), np.int64, len(strings))
    if int(sizes.sum()) <= limit:
        return
    is_used = np.zeros(len(strings), np.bool_)
    for table in columns.tables.values():
        for name in table:
            if name.endswith("_code"):
                is_used[table[name][table[name] >= 0]] = True
    longest = np.lexsort((-sizes, is_used))  # texts that nothing refers to first
    longest = longest[sizes[longest] > CUT_CHARS]
    excess = int(sizes.sum()) - limit
    cut = longest[: 1 + int(np.searchsorted(np.cumsum(sizes[longest] - CUT_CHARS), excess))]
    known: dict[str, int] = {}
    for code in cut.tolist():
        text = strings[code][: CUT_CHARS - len(_CONTINUED)]
        known[text] = known.get(text, 0) + 1
        strings[code] = f"{text}{_CONTINUED}" if known[text] == 1 else f"{text}… ({known[text]})"
    columns.quality.add(
        "texts_cut", int(is_used[cut].sum()), columns.budget.described("all_text_chars")
    )
