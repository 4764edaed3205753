"""How many members of a process group are among the workers of a run.

A call without a partner was lost where the recordings of all members are loaded, and may be in a
recording that is missing where they are not: the two are distinguished here. Recorders cut long
lists of ranks (torch after 30: ``[0, 1, …, 29, ...]``); the header of the recording has them whole.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import own_rank, world_size
from torch_tb_profiler.trace.model import Trace

CUT = "..."
"""Where a list of ranks goes on."""


def add_members(calls: pl.DataFrame, traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Add ``loaded``: the members of the call's group that are workers here, null if unknown.

    Args:
        calls: With ``group_key`` and ``group_size``.
        traces: All workers of the run.
    """
    groups = calls.select("group_key", "group_size").unique().drop_nulls("group_key")
    counts = _loaded(groups.rows(), traces)
    schema = {"group_key": pl.String, "group_size": pl.Int64, "loaded": pl.Int64}
    table = pl.DataFrame(
        [(*row, count) for row, count in zip(groups.rows(), counts, strict=True)],
        schema=schema,
        orient="row",
    )
    return calls.join(
        table, on=["group_key", "group_size"], how="left", nulls_equal=True, maintain_order="left"
    )


def loaded_ranks(traces: Mapping[str, Trace]) -> int:
    """How many ranks the recordings hold: one each where a recording says which, else one per
    device in use, as files of several ranks say none."""
    return sum(
        1 if own_rank(trace) is not None else max(1, int(trace.devices["used"].sum()))
        for trace in traces.values()
    )


def _loaded(groups: list[tuple[str, int | None]], traces: Mapping[str, Trace]) -> list[int | None]:
    ranks = [own_rank(trace) for trace in traces.values()]
    present = {rank for rank in ranks if rank is not None}
    # Nodes that each count from 0 have ranks twice, and then a rank is no name of a worker.
    is_known = None not in ranks and len(present) == len(ranks)
    worlds = {size for trace in traces.values() if (size := world_size(trace)) is not None}
    world = worlds.pop() if len(worlds) == 1 else None
    described = _described_groups(traces)
    counts: list[int | None] = []
    for key, size in groups:
        members = _members(key, size, described, world)
        # Else the rank of a worker with such calls is no name either.
        if is_known and members is not None and members & present:
            counts.append(len(members & present))
        elif size is not None and size == world == len(ranks):
            counts.append(size)
        else:
            counts.append(None)
    return counts


def _members(
    key: str, size: int | None, described: Mapping[str, list[frozenset[int]]], world: int | None
) -> frozenset[int] | None:
    """The ranks of a group, from its key, from headers or because it is the whole job; None where
    neither has them all."""
    name, _, text = key.rpartition("|")
    known = listed_ranks(key)
    if known and CUT not in text:
        return known
    whole = [ranks for ranks in described.get(name, []) if known <= ranks]
    if len(set(whole)) == 1:
        return whole[0]
    if size is not None and size == world:
        return frozenset(range(size))
    return None


def listed_ranks(key: str) -> frozenset[int]:
    """The ranks that the key of a group lists, all or the first of them."""
    listed = key.rpartition("|")[2].strip("[]").split(",")
    return frozenset(int(rank) for rank in listed if rank.strip().isdecimal())


def _described_groups(traces: Mapping[str, Trace]) -> dict[str, list[frozenset[int]]]:
    """Name → members of the groups that headers describe; several groups may share a name."""
    groups: dict[str, dict[frozenset[int], None]] = {}
    seen: set[int] = set()  # large groups that many ranks describe are one object
    for trace in traces.values():
        job = trace.meta.info.job
        for group in (job.groups or ()) if job is not None else ():
            if group.name is not None and group.ranks and id(group) not in seen:
                seen.add(id(group))
                groups.setdefault(group.name, {}).setdefault(frozenset(group.ranks))
    return {name: [*members] for name, members in groups.items()}
