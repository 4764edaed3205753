"""The calls of everything that could cut a recording into iterations, by name.

Definitions: ``docs/metrics.md#key-nodes``.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.knowledge.iterations import iterations_file, matches_wildcard
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.model import Trace

MOST_CALLS = 100_000
"""What is called as often is no iteration; the tables of so many could not be read either."""

KINDS = {
    Category.OPERATOR: "operator",
    Category.PYTHON_OPERATOR: "operator",
    Category.ANNOTATION: "range",
    Category.STEP: "step",
    Category.DATALOADER: "data loader",
    Category.OPTIMIZER: "optimizer",
    Category.MODULE: "module",
}
"""The categories that candidates are of, in the words of people."""

_COUNTED = (Category.ANNOTATION, Category.STEP, Category.DATALOADER, Category.OPTIMIZER)
"""Categories whose names may hold counters."""

_NUMBERS = re.compile(r"[0-9]+")
_LONGEST_PATTERN = 200


class CandidateCalls(Struct, frozen=True, eq=False):
    """The calls of the candidates that are not inside another call of the same candidate.

    Attributes:
        names: Name of each candidate; ``*`` stands for numbers that differ between its calls.
        kinds: Kind of each, of :data:`KINDS`.
        inside: Whether its first call is inside one of a candidate called as often.
        group: Per call its candidate, ascending.
        sequence: Per call its process, -1 where the file does not tell.
        start_ns: Start of each call.
        end_ns: End of each; ascending within a candidate and a process.
    """

    names: list[str]
    kinds: list[str]
    inside: Bools
    group: Int64
    sequence: Int64
    start_ns: Int64
    end_ns: Int64


class CallIntervals(Struct, frozen=True, eq=False):
    """Per candidate the times between one end and the next in the same process.

    Attributes:
        mean_ns: Their mean, NaN without any.
        stddev_ns: Their standard deviation, NaN without any.
        varies: The coefficient of variation without the longest, where there are four or more:
            the first iteration, or one that was interrupted, is no irregularity.
        sequences: Processes that called it.
    """

    mean_ns: Float64
    stddev_ns: Float64
    varies: Float64
    sequences: Int64


def candidate_calls(trace: Trace) -> CandidateCalls:
    """The candidates that are called twice or more."""
    rows = _host_rows(trace)
    names, kinds, member_row, member_group = _grouped(trace, rows)
    slices = trace.slices
    start = slices["start_ns"].to_numpy()[member_row]
    end = start + slices["dur_ns"].to_numpy()[member_row]
    track = slices["track"].to_numpy()[member_row]
    outer = ~_inside_own_group(member_group, track, start, end)
    number = np.bincount(member_group[outer], minlength=len(names))
    chosen = (number >= 2) & (number < MOST_CALLS)
    keep = outer & chosen[member_group]
    renumbered = np.cumsum(chosen) - 1
    group = renumbered[member_group[keep]]
    process = indices(trace.tracks["process"])[track[keep]]
    start, end, row = start[keep], end[keep], member_row[keep]
    order = np.lexsort((end, group * (trace.tracks.height + 1) + process))
    picked = np.flatnonzero(chosen).tolist()
    return CandidateCalls(
        [names[index] for index in picked],
        [kinds[index] for index in picked],
        _inside_equals(trace, row, group, number[chosen]),
        group[order],
        process[order],
        start[order],
        end[order],
    )


def intervals_of(calls: CandidateCalls) -> CallIntervals:
    """How the calls of each candidate follow one another."""
    count = len(calls.names)
    same = calls.group[1:] == calls.group[:-1]
    begins = np.append(True, ~same | (calls.sequence[1:] != calls.sequence[:-1]))[
        : len(calls.group)
    ]
    after = np.flatnonzero(~begins)
    length = (calls.end_ns[after] - calls.end_ns[after - 1]).astype(np.float64)
    group = calls.group[after]
    number = np.bincount(group, minlength=count).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, length, count) / number
        squares = np.bincount(group, (length - mean[group]) ** 2, count)
        stddev = np.sqrt(squares / number)
        longest = np.zeros(count)
        np.maximum.at(longest, group, length)
        # Mean and squares without the longest, from those with it.
        trims = number >= 4
        rest = np.where(trims, number - 1, number)
        trimmed = np.where(trims, (mean * number - longest) / rest, mean)
        moved = squares - (longest - mean) ** 2 - rest * (trimmed - mean) ** 2
        varies = np.sqrt(np.where(trims, np.maximum(moved, 0), squares) / rest) / trimmed
    sequences = np.bincount(calls.group[begins], minlength=count).astype(np.int64)
    return CallIntervals(mean, stddev, varies, sequences)


def _host_rows(trace: Trace) -> Int64:
    """Operators, ranges and the outermost modules."""
    category = trace.slices["category"].to_numpy()
    wanted = np.zeros(len(Category), np.bool_)
    wanted[list(NODE_CATEGORIES)] = True
    chosen = wanted[category]
    modules = np.flatnonzero(category == Category.MODULE)
    if len(modules):
        start = trace.slices["start_ns"].to_numpy()[modules]
        end = start + trace.slices["dur_ns"].to_numpy()[modules]
        track = trace.slices["track"].to_numpy()[modules]
        inside = _inside_own_group(np.zeros(len(modules), np.int64), track, start, end)
        chosen[modules[~inside]] = True
    return np.flatnonzero(chosen)


def _grouped(trace: Trace, rows: Int64) -> tuple[list[str], list[str], Int64, Int64]:
    """Names and kinds of groups, and as two arrays which slices belong to which: a slice is of its
    own name, and of the name with ``*`` for its numbers where several names differ in these."""
    category = trace.slices["category"].to_numpy()[rows].astype(np.int64)
    code = trace.slices["name_code"].to_numpy()[rows].astype(np.int64)
    key = code * len(Category) + category
    distinct = np.flatnonzero(np.bincount(key, minlength=1))
    rank = np.zeros(int(distinct.max(initial=0)) + 1, np.int64)
    rank[distinct] = np.arange(len(distinct))
    group = rank[key]
    texts = [str(trace.strings[number // len(Category)]) for number in distinct.tolist()]
    categories = [Category(number % len(Category)) for number in distinct.tolist()]
    kinds = [KINDS[each] for each in categories]
    pattern, named = _patterns(texts, categories)
    joined, groups = [np.arange(len(rows))], [group]
    for of_name in pattern:
        members = np.flatnonzero(of_name[group] >= 0)
        joined.append(members)
        groups.append(len(distinct) + of_name[group[members]])
    texts += [name for name, _ in named]
    kinds += [kind for _, kind in named]
    return texts, kinds, rows[np.concatenate(joined)], np.concatenate(groups)


def _patterns(
    texts: list[str], categories: list[Category]
) -> tuple[list[Int64], list[tuple[str, str]]]:
    """The names with ``*`` that are candidates too, each with its kind, and in one or more arrays
    which of them each name is of, -1 for none."""
    named: dict[tuple[str, str], list[int]] = {}
    for index, (text, category) in enumerate(zip(texts, categories, strict=True)):
        for name in _names_with_counters(text, category):
            named.setdefault((name, KINDS[category]), []).append(index)
    known = {entry.name for entry in iterations_file().ranges}
    chosen = {
        key: positions for key, positions in named.items() if len(positions) > 1 or key[0] in known
    }
    arrays = [np.full(len(texts), -1, np.int64)]
    for number, positions in enumerate(chosen.values()):
        for array in arrays:
            if (array[positions] < 0).all():
                break
        else:
            array = np.full(len(texts), -1, np.int64)
            arrays.append(array)
        array[positions] = number
    return arrays, list(chosen)


def _names_with_counters(text: str, category: Category) -> list[str]:
    if category not in _COUNTED or len(text) > _LONGEST_PATTERN:
        return []
    known = [entry.name for entry in iterations_file().ranges if matches_wildcard(text, entry.name)]
    without = _NUMBERS.sub("*", text)
    return [name for name in dict.fromkeys((*known, without)) if name != text]


def _inside_own_group(group: Int64, track: Int64, start_ns: Int64, end_ns: Int64) -> Bools:
    """Which slices lie in another one of their group on their track; those of a group are in order
    of slice id."""
    inside = np.zeros(len(group), np.bool_)
    if not len(group):
        return inside
    key = group * (int(track.max()) + 1) + track
    order = np.argsort(key, kind="stable")
    key, start, end = key[order], start_ns[order], end_ns[order]
    # Where one lies in an earlier one, so does the one directly behind that.
    touched = distinct_values(key[1:][(key[1:] == key[:-1]) & (start[1:] < end[:-1])])
    rows = np.flatnonzero(np.isin(key, touched))
    if not len(rows):
        return inside
    # One running maximum serves all keys: ranks instead of times leave room to lift each key above
    # the one before.
    ends, rank = factorize(end[rows])
    lift = np.searchsorted(touched, key[rows]) * len(ends)
    reach = ends[np.maximum.accumulate(rank + lift) - lift]
    behind = np.append(False, key[rows][1:] == key[rows][:-1])
    inside[order[rows]] = behind & (start[rows] < np.append(0, reach[:-1]))
    return inside


def _inside_equals(trace: Trace, row: Int64, group: Int64, number: Int64) -> Bools:
    """Per candidate whether something around its first call belongs to one called as often.

    Climbs from the first call of each candidate: names are few, and nesting is not deep.
    """
    count = len(number)
    calls_of = np.zeros(trace.slices.height, np.int64)
    # Of a slice in two candidates (its name, and without numbers) the larger one counts.
    np.maximum.at(calls_of, row, number[group])
    first = np.full(count, trace.slices.height, np.int64)
    np.minimum.at(first, group, row)
    parent = indices(trace.slices["parent"])
    inside = np.zeros(count, np.bool_)
    above = parent[first] if count else first
    rows = np.flatnonzero(above >= 0)
    for _ in range(_MOST_LEVELS):
        if not len(rows):
            break
        inside[rows] |= calls_of[above[rows]] == number[rows]
        above[rows] = parent[above[rows]]
        rows = rows[(above[rows] >= 0) & ~inside[rows]]
    return inside


_MOST_LEVELS = 1000
"""Levels of nesting that are looked through; only damaged or hostile files nest deeper."""
