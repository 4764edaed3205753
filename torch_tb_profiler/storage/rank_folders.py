"""Ranks that were written into a folder each: the folders that differ in the rank alone are a run.

``job/rank0/…`` and ``job/rank1/…`` are the workers ``rank0`` and ``rank1`` of the run ``job``, as
files that differ in the rank alone are (:mod:`.content_names`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch_tb_profiler.storage.content_names import content_name
from torch_tb_profiler.storage.found import Match


def joined_ranks(by_run: Mapping[str, Sequence[Match]]) -> dict[str, list[Match]]:
    """Runs whose names differ in the rank of their last part as one run each.

    Nothing is joined where the run that they would be is there already, or where there is one such
    folder only.

    Args:
        by_run: Run → its traces.
    """
    groups: dict[str, dict[str, str]] = {}
    for run in by_run:
        above, _, last = run.rpartition("/")
        name = content_name(last, ())
        if name.is_rank and last:
            whole = "/".join(part for part in (above, "" if name.is_plain else name.group) if part)
            groups.setdefault(whole, {})[run] = name.worker
    joined: dict[str, list[Match]] = {}
    whole_of = {
        run: (whole, rank)
        for whole, ranks in groups.items()
        if len(set(ranks.values())) == len(ranks) > 1 and whole not in by_run
        for run, rank in ranks.items()
    }
    for run, matches in by_run.items():
        whole, rank = whole_of.get(run, (run, None))
        joined.setdefault(whole, []).extend(_of_rank(matches, rank))
    return joined


def _of_rank(matches: Sequence[Match], rank: str | None) -> list[Match]:
    """The traces of a folder, named after its rank."""
    if rank is None:
        return list(matches)
    workers = {match.name.worker for match in matches}
    names = {each: rank if len(workers) == 1 else f"{rank}-{each}" for each in workers}
    return [
        replace(match, name=replace(match.name, worker=names[match.name.worker]))
        for match in matches
    ]
