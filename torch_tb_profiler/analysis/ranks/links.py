"""Transfers that are slower than those of the same kind, sizes and distance elsewhere in the job.

What a collective takes after its last member has arrived is the network's. Groups of one size whose
members are as far apart move the same data in the same time; a group (or a pair) that takes longer
has a slow link. Which one, the groups say that are slow together, and those that are not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.analysis.ranks.peers import spread
from torch_tb_profiler.knowledge.rank_causes import rank_causes_file
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

LEAST_BYTES = 131_072
"""Smaller transfers take as long as a collective takes to begin: they say nothing of links."""

_CLASS = ("collective_name", "group_size", "size_bytes", "dtype", "is_pair", "nodes", "switches")


class LinkUnits(Struct, frozen=True, eq=False):
    """The groups and pairs of a job whose transfers can be compared.

    Attributes:
        members: Per unit its ranks (positions).
        is_within_node: Per unit whether all of them are on one node; None where nodes are unknown.
        slower: Transfer ÷ what it takes elsewhere, ``[units, steps]``, NaN without a call.
        excess_ns: What its transfers take longer, likewise; 0 without a call.
        calls: Rows of :attr:`~torch_tb_profiler.analysis.ranks.job.RankJob.calls` with ``unit`` and
            ``usual_ns``.
    """

    members: list[Int64]
    is_within_node: list[bool | None]
    slower: Float64
    excess_ns: Float64
    calls: pl.DataFrame

    def slow(self, step_ns: float) -> Bools:
        """Which units are slow, ``[units, steps]``."""
        limits = rank_causes_file().limits
        ratio = np.nan_to_num(self.slower, nan=1.0) - 1
        least = max(limits.link_slower_pct / 100, limits.deviations * spread(ratio))
        slow: Bools = (ratio > least) & (self.excess_ns > limits.least_link_pct / 100 * step_ns)
        return slow


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
        return LinkUnits([], [], nothing, nothing, calls.with_columns(unit=0, usual_ns=0.0))
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
    return LinkUnits(members, within, slower, np.maximum(took - usually, 0), calls)


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
        units: Mask of the slow units that it explains.
        is_within_node: Whether the slow links are those within a node; None where unknown.
    """

    level: str
    names: list[str | int]
    units: Bools
    is_within_node: bool | None


def suspect(units: LinkUnits, slow: Bools, levels: Mapping[str, pl.Series]) -> Suspect | None:
    """The end that explains best which units are slow and which are not.

    A rank explains units it is in, a node (a switch) those that cross its boundary; only those
    within nodes, or only those between nodes, or all.

    Args:
        units: All units.
        slow: Mask of the slow ones, at least one.
        levels: Per level the name of each rank's end; null where it is unknown.
    """
    best: tuple[float, int, Suspect] | None = None
    within = np.array([np.nan if w is None else float(w) for w in units.is_within_node])
    for order, (level, names) in enumerate(levels.items()):
        for distance in (None, True, False) if level == "rank" else (None,):
            chosen = np.ones(len(slow), np.bool_) if distance is None else within == distance
            for name, touched in _touched(units, level, names).items():
                predicted = touched & chosen
                hits = int((predicted & slow).sum())
                if not hits:
                    continue
                score = 2 * hits / (int(predicted.sum()) + int(slow.sum()))
                explanation = Suspect(level, [name], predicted & slow, distance)
                if best is None or score > best[0] + 1e-9:
                    best = (score, order, explanation)
                elif score > best[0] - 1e-9 and best[1] == order and name not in best[2].names:
                    best[2].names.append(name)
    if best is None or best[0] < rank_causes_file().limits.least_agreement:
        return None
    return best[2]


def _touched(units: LinkUnits, level: str, names: pl.Series) -> dict[str | int, Bools]:
    """Per end the units that use its links."""
    values = names.to_list()
    touched: dict[str | int, Bools] = {}
    for number, members in enumerate(units.members):
        ends = {values[rank] for rank in members.tolist()}
        if level != "rank" and len(ends) < 2:
            continue  # inside of one end
        for end in ends - {None}:
            touched.setdefault(end, np.zeros(len(units.members), np.bool_))[number] = True
    return touched


def cut_off_nodes(units: LinkUnits, slow: Bools, nodes: pl.Series) -> pl.Series:
    """Per rank the names of the nodes that no group or pair at full speed connects with most of the
    job, ``"of n0, n1"``, if its own is one of them; else null, as where nodes are unknown.

    Where no file says which nodes share a switch, this says which share a slow way to the others.
    """
    nothing = pl.Series([None] * len(nodes), dtype=pl.String)
    if nodes.null_count() or not slow.any():
        return nothing
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
    largest = np.bincount(side[of_rank]).argmax()
    outside = side != largest
    if not 1 < int(outside.sum()) < len(names):
        return nothing
    text = "of " + ", ".join(names[outside].tolist())
    return pl.Series([text if cut else None for cut in outside[of_rank].tolist()], dtype=pl.String)
