"""The process groups of a job and their members, as all its recordings together describe them.

A group is known from the calls in it (``records``) and from the header of each recording, which
describes the groups of its rank. torch writes the first 30 members of a group at a call only, so
the header completes them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.metadata import only_group, own_rank
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.trace.info import ProcessGroup
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.model import Trace

GROUPS = pl.Schema(
    {
        "group_key": pl.String(),  # as in records
        "group": pl.String(),  # label
        "name": pl.String(),
        "description": pl.String(),
        "size": pl.Int64(),
        "ranks": pl.List(pl.Int64),  # null where unknown
    }
)
"""One row per process group: first those with calls, in order of appearance."""

_FIRST_MEMBERS = re.compile(r"\[(\d{1,9}(?:,\d{1,9})*)(,\.\.\.)?\]")
_Ranks = tuple[int, ...]


class _Declared(Struct, frozen=True):
    """A group as headers describe it."""

    key: str
    label: str
    name: str
    description: str | None
    size: int | None
    ranks: _Ranks | None


def unnamed_group(traces: Mapping[str, Trace]) -> str | None:
    """The key of the group of calls in which none is named: the only group that all workers with
    calls declare, as ``matching`` fills it in; None where they declare others."""
    keys = {only_group(trace)[1] for trace in traces.values() if records(trace).frame.height}
    return keys.pop() if len(keys) == 1 else None


def process_groups(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """The groups of a job as :data:`GROUPS`; calls in which no group is named have none."""
    used = _used(traces)
    by_name: defaultdict[str, list[_Declared]] = defaultdict(list)
    for group in _declared(traces, unnamed_group(traces)):
        by_name[group.name].append(group)
    rows, known = [], set()
    for row in used.drop_nulls("group_key").iter_rows(named=True):
        group = _with_members(row, by_name)
        rows.append(group)
        known.add((group.name, group.ranks))
    rows += [
        group
        for groups in by_name.values()
        for group in groups
        if (group.name, group.ranks) not in known
    ]
    columns = {
        "group_key": [row.key for row in rows],
        "group": [row.label for row in rows],
        "name": [row.name for row in rows],
        "description": [row.description for row in rows],
        "size": [row.size for row in rows],
        "ranks": [None if row.ranks is None else list(row.ranks) for row in rows],
    }
    frame = pl.DataFrame(columns, schema=GROUPS)
    return frame.unique("group_key", keep="first", maintain_order=True)


def _used(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """The groups of the calls: ``group_key`` (null where none is named), ``group``, ``group_size``
    and ``present``, the ranks of the workers that have calls in it."""
    frames = [records(trace).frame for trace in traces.values()]
    ranks = [own_rank(trace) for trace in traces.values()]
    heights = [frame.height for frame in frames]
    calls = (
        pl.concat(frames)
        .select("group_key", "group", "group_size")
        .with_columns(
            group_key=pl.col("group_key").fill_null(pl.lit(unnamed_group(traces), pl.String)),
            rank=pl.Series(ranks, dtype=pl.Int64).gather(np.repeat(np.arange(len(ranks)), heights)),
        )
    )
    return calls.group_by("group_key", maintain_order=True).agg(
        pl.col("group").drop_nulls().first(),
        pl.col("group_size").max(),
        present=pl.col("rank").unique().sort(),
    )


def _with_members(row: Mapping[str, object], by_name: Mapping[str, list[_Declared]]) -> _Declared:
    """A group that has calls, with the members that its key, a header, or the workers with calls in
    it give; where these disagree with its size, none."""
    key, label, size, present = (
        row[name] for name in ("group_key", "group", "group_size", "present")
    )
    assert isinstance(key, str)
    assert isinstance(present, list)
    name, _, text = key.rpartition("|")
    declared = by_name.get(name, [])
    first, is_whole = _members(text)
    if first and is_whole and size in (None, len(first)):
        ranks: _Ranks | None = first
    else:
        matching = [
            each
            for each in declared
            if each.ranks is not None
            and each.ranks[: len(first)] == first
            and size in (None, len(each.ranks))
        ]
        ranks = matching[0].ranks if len(matching) == 1 else None
        if ranks is None and size == len(present) and None not in present:
            ranks = tuple(present)
    described = next((each for each in declared if each.ranks in (ranks, None)), None)
    return _Declared(
        key,
        label if isinstance(label, str) else described.label if described else name,
        name,
        _description(label, name) or (described.description if described else None),
        size if isinstance(size, int) else None if ranks is None else len(ranks),
        ranks,
    )


def _members(text: str) -> tuple[_Ranks, bool]:
    """The members that a key lists, and whether these are all."""
    match = _FIRST_MEMBERS.fullmatch(text)
    if match is None:
        return (), False
    return tuple(int(part) for part in match[1].split(",")), match[2] is None


def _description(label: object, name: str) -> str | None:
    """The description in a label; None where it has none."""
    if not isinstance(label, str):
        return None
    prefix = f"{name} ("
    return label[len(prefix) : -1] if label.startswith(prefix) and label.endswith(")") else None


def _declared(traces: Mapping[str, Trace], unnamed: str | None) -> Iterable[_Declared]:
    """The groups of the headers, each once.

    Args:
        traces: The recordings.
        unnamed: The key of the only group, under which calls without a group are known.
    """
    seen: set[tuple[object, ...]] = set()
    for trace in traces.values():
        job = trace.meta.info.job
        if job is None or not job.groups:
            continue
        for group in job.groups:
            ranks = group.ranks or ()
            # Not the members themselves: thousands of ranks list all the others.
            identity = (group.name, group.uid, len(ranks), ranks[:2], ranks[-1:])
            if group.name is None or identity in seen:
                continue
            seen.add(identity)
            yield _declaration(group, unnamed)


def _declaration(group: ProcessGroup, key: str | None) -> _Declared:
    name, text = group.name or "", group.description or group.uid
    known = tuple(rank for rank in group.ranks or () if rank < MAX_RANKS) or None
    return _Declared(
        key or f"{name}|[{','.join(map(str, known or ()))}]",
        f"{name} ({text})" if text else name,
        name,
        group.description,
        group.size or (None if known is None else len(known)),
        known,
    )
