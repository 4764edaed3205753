"""Transfers that are slower than those of the same kind, sizes and distance elsewhere in the job.

What a collective takes after its last member has arrived is the network's. Groups of one size whose
members are as far apart move the same data in the same time; a group (or a pair) that takes longer
has a slow link. Which one, the groups say that are slow together, and those that are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.analysis.ranks.peers import spread
from torch_tb_profiler.knowledge.rank_causes import rank_causes_file
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

LEAST_BYTES = 131_072
"""Smaller transfers take as long as a collective takes to begin: they say nothing of links."""

_OF_HALF = 1.28
"""The 5th and 20th percentile of normal values are that much closer than the 10th and 40th."""

_CLASS = ("collective_name", "group_size", "size_bytes", "dtype", "is_pair", "nodes", "switches")


class LinkUnits(Struct, frozen=True, eq=False):
    """The groups and pairs of a job whose transfers can be compared.

    Attributes:
        members: Per unit its ranks (positions).
        neighbours: Per unit those of them that share their node with another one.
        is_within_node: Per unit whether all of them are on one node; None where nodes are unknown.
        slower: Transfer ÷ what it takes elsewhere, ``[units, steps]``, NaN without a call.
        excess_ns: What its transfers take longer, likewise; 0 without a call.
        calls: Rows of :attr:`~torch_tb_profiler.analysis.ranks.job.RankJob.calls` with ``unit`` and
            ``usual_ns``.
    """

    members: list[Int64]
    neighbours: list[Int64]
    is_within_node: list[bool | None]
    slower: Float64
    excess_ns: Float64
    calls: pl.DataFrame

    def slow(self, step_ns: float) -> Bools:
        """Which units are slow, ``[units, steps]``."""
        limits = rank_causes_file().limits
        ratio = np.nan_to_num(self.slower, nan=1.0) - 1
        least = max(limits.link_slower_pct / 100, limits.deviations * _fast_spread(ratio))
        slow: Bools = (ratio > least) & (self.excess_ns > limits.least_link_pct / 100 * step_ns)
        return slow


def _fast_spread(ratio: Float64) -> float:
    """How far units at full speed differ: the smaller of two estimates, as a slow switch between
    stages may slow most of the units."""
    known = np.sort(ratio[np.isfinite(ratio)])
    return min(spread(known), spread(known[: len(known) // 2 + 1]) * _OF_HALF)


def link_units(job: RankJob, nodes: pl.Series, switches: pl.Series) -> LinkUnits:
    """The groups and pairs of a job.

    Args:
        job: The job.
        nodes: Per rank its node, null where it is unknown.
        switches: Per rank its switch, likewise.
    """
    steps = len(job.steps)
    calls = job.calls.with_columns(
        unit_name=pl.coalesce("pair", "group_key"),
        is_pair=pl.col("pair").is_not_null(),
        set=pl.col("members").list.unique().list.sort(),
    ).filter(
        (pl.col("transfer_ns") > 0)
        & (pl.col("size_bytes").fill_null(LEAST_BYTES) >= LEAST_BYTES)  # without a size: all
    )
    if calls.is_empty():
        nothing = np.zeros((0, steps))
        return LinkUnits([], [], [], nothing, nothing, calls.with_columns(unit=0, usual_ns=0.0))
    units = calls.select("unit_name", "set").unique(maintain_order=True).with_row_index("unit")
    members = [np.array(row, np.int64) for row in units["set"].to_list()]
    of_unit = units.with_columns(nodes=_counts(nodes, members), switches=_counts(switches, members))
    calls = calls.join(of_unit, on=["unit_name", "set"], nulls_equal=True, maintain_order="left")
    by_unit = calls.group_by(*_CLASS, "unit").agg(pl.col("transfer_ns").median())
    usual = by_unit.group_by(*_CLASS).agg(
        pl.col("transfer_ns").quantile(0.25, "lower").alias("usual_ns"), pl.len().alias("units")
    )
    alone = calls.group_by(*_CLASS).agg(
        pl.col("transfer_ns").quantile(0.25, "lower").alias("usual_ns_alone")
    )
    calls = (
        calls.join(usual, on=_CLASS, nulls_equal=True, maintain_order="left")
        .join(alone, on=_CLASS, nulls_equal=True, maintain_order="left")
        # One group has no other to be compared with: only its own steps.
        .with_columns(
            usual_ns=pl.when(pl.col("units") > 1).then("usual_ns").otherwise("usual_ns_alone")
        )
    )
    took, usually = np.zeros((len(members), steps)), np.zeros((len(members), steps))
    at = (calls["unit"].to_numpy(), calls["step"].to_numpy())
    np.add.at(took, at, calls["transfer_ns"].to_numpy())
    np.add.at(usually, at, calls["usual_ns"].to_numpy())
    with np.errstate(invalid="ignore", divide="ignore"):
        slower = np.where(usually > 0, took / usually, np.nan)
    within = [None if count is None else count == 1 for count in of_unit["nodes"].to_list()]
    longer = np.maximum(took - usually, 0)
    return LinkUnits(members, _neighbours(nodes, members), within, slower, longer, calls)


def _neighbours(nodes: pl.Series, members: list[Int64]) -> list[Int64]:
    number = nodes.rank("dense").fill_null(0).to_numpy()
    on_nodes = [number[ranks] for ranks in members]
    return [
        ranks[(ends > 0) & (np.bincount(ends)[ends] > 1)]
        for ranks, ends in zip(members, on_nodes, strict=True)
    ]


def _counts(where: pl.Series, members: list[Int64]) -> pl.Series:
    """Per unit over how many nodes (or switches) its ranks are spread; null where one is
    unknown."""
    number = where.rank("dense").fill_null(0).to_numpy()
    counts = [
        None if (ends := number[ranks]).min() == 0 else len(set(ends.tolist())) for ranks in members
    ]
    return pl.Series(counts, dtype=pl.Int64)


class Suspect(Struct, frozen=True, eq=False):
    """An end whose links may be slow.

    Attributes:
        level: ``"rank"``, ``"node"`` or ``"switch"``.
        names: Of several the transfers do not say which: all of them.
        ranks: Positions of the ranks at them.
        units: Mask of the slow units that it explains.
        is_within_node: Whether the slow links are those within a node; None where unknown.
    """

    level: str
    names: list[str | int]
    ranks: Int64
    units: Bools
    is_within_node: bool | None


def suspect(
    units: LinkUnits, slow: Bools, levels: Sequence[tuple[str, pl.Series]]
) -> Suspect | None:
    """The end that explains best which units are slow and which are not.

    A rank explains units it is in, a node (a switch) those that cross its boundary; of a rank only
    those within its node, those with another member on its node (a ring passes between them by the
    links within it), those between nodes, or all.

    Args:
        units: All units.
        slow: Mask of the slow ones, at least one.
        levels: Levels with the name of each rank's end, null where it is unknown; of two
            explanations that are as good the one of the earlier entry is taken.
    """
    best: tuple[float, int, Suspect] | None = None
    within = np.array([np.nan if w is None else float(w) for w in units.is_within_node])
    for order, (level, names) in enumerate(levels):
        touched_by = _touched(units.members, level, names)
        ways: list[tuple[bool | None, dict[str | int, Bools]]] = [(None, touched_by)]
        if level == "rank":
            ways += [
                (near, {name: touched & (within == near) for name, touched in touched_by.items()})
                for near in (True, False)
            ]
            ways.append((True, _touched(units.neighbours, level, names)))
        for distance, explained in ways:
            for name, predicted in explained.items():
                hits = int((predicted & slow).sum())
                if not hits:
                    continue
                score = 2 * hits / (int(predicted.sum()) + int(slow.sum()))
                if best is None or score > best[0] + 1e-9:
                    ranks = np.empty(0, np.int64)
                    best = (score, order, Suspect(level, [name], ranks, predicted & slow, distance))
                elif score > best[0] - 1e-9 and best[1] == order and name not in best[2].names:
                    best[2].names.append(name)
    if best is None or best[0] < rank_causes_file().limits.least_agreement:
        return None
    _, order, end = best
    level, names = levels[order]
    decided = _also_slower(units, slow, _touched(units.members, level, names), end.names)
    at_ends = names.is_in(decided).fill_null(value=False)
    return msgspec.structs.replace(end, names=decided, ranks=np.flatnonzero(at_ends.to_numpy()))


def _also_slower(
    units: LinkUnits, slow: Bools, touched: dict[str | int, Bools], names: list[str | int]
) -> list[str | int]:
    """Of ends that explain the slow units equally well the one whose other units are slower, too,
    if less than counts by itself: a ring over many nodes passes a slow link once. Else all."""
    if len(names) < 2:
        return names
    ratio = np.nan_to_num(units.slower, nan=1.0)
    mean = ratio.mean(axis=1)
    most = [float(mean[touched[name] & ~slow].max(initial=1.0)) for name in names]
    first, second = np.argsort(most)[[-1, -2]]
    clear = rank_causes_file().limits.deviations * _fast_spread(ratio - 1)
    return [names[first]] if most[first] - most[second] > clear else names


def _touched(members: Sequence[Int64], level: str, names: pl.Series) -> dict[str | int, Bools]:
    """Per end the units that use its links; ``members``: per unit its ranks."""
    values = names.to_list()
    touched: dict[str | int, Bools] = {}
    for number, ranks in enumerate(members):
        ends = {values[rank] for rank in ranks.tolist()}
        if level != "rank" and len(ends) < 2:
            continue  # inside of one end
        for end in ends - {None}:
            touched.setdefault(end, np.zeros(len(members), np.bool_))[number] = True
    return touched


def cut_off_nodes(units: LinkUnits, slow: Bools, nodes: pl.Series) -> list[pl.Series]:
    """Sets of nodes that no group or pair at full speed connects with others, each a switch that
    may be slow: per rank its name, ``"of n0, n1"``, null outside of all; none where nodes are
    unknown.

    Where no file says which nodes share a switch, this says which share a slow way to the others.
    First each set by itself, then all but the largest together: nodes of one switch need not
    communicate with each other.
    """
    if nodes.null_count() or not slow.any():
        return []
    names, of_rank = np.unique(nodes.to_numpy(), return_inverse=True)
    side = np.arange(len(names))
    rows = np.flatnonzero(~slow).tolist()
    fast = [np.unique(of_rank[units.members[row]]) for row in rows]
    for _ in names:
        before = side.copy()
        for ends in fast:
            side[ends] = side[ends].min()
        if np.array_equal(side, before):
            break
    outside = side != np.bincount(side[of_rank]).argmax()
    partitions = [np.where(outside, side, -1), np.where(outside, 0, -1)]
    return [_named_sets(names, of_rank, numbers) for numbers in partitions]


def _named_sets(names: npt.NDArray[np.object_], of_rank: Int64, numbers: Int64) -> pl.Series:
    """Per rank the name of its set of nodes, of those of at least two; ``numbers``: per node that
    of its set, -1 for none."""
    texts: dict[int, str] = {
        number: "of " + ", ".join(names[numbers == number].tolist())
        for number in np.unique(numbers[numbers >= 0]).tolist()
        if int((numbers == number).sum()) > 1
    }
    return pl.Series([texts.get(number) for number in numbers[of_rank].tolist()], dtype=pl.String)
