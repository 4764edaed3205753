"""Pipeline stages whose ranks are all on one node: no peer elsewhere shows what is usual.

Whatever slows the host of that node slows the whole stage alike. Then the hosts of the other stages
show what is usual: a host launches work ahead of its device, whatever the stage computes.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.knowledge.rank_causes import rank_causes_file
from torch_tb_profiler.trace.columns import Float64, Int64


def late_stage_hosts(
    host_ns: Float64, step_ns: float, stage: pl.Series, node: pl.Series
) -> Float64 | None:
    """What the hosts of a stage on one node launch later than those of all stages on other nodes,
    ``[ranks, steps]``; 0 for all other ranks. None where there is no such stage.

    Args:
        host_ns: How long the device of each rank waits for its host, ``[ranks, steps]``.
        step_ns: How long a step takes.
        stage: Per rank its pipeline stage, null where it is unknown.
        node: Per rank its node, likewise.
    """
    if stage.null_count() or node.null_count():
        return None
    limits = rank_causes_file().limits
    stages, of_rank = np.unique(stage.to_numpy(), return_inverse=True)
    nodes = np.unique(node.to_numpy(), return_inverse=True)[1].astype(np.int64)
    usual = np.stack(
        [np.nanmedian(host_ns[of_rank == number], axis=0) for number in range(len(stages))]
    )
    late = np.zeros_like(host_ns)
    for number in range(len(stages)):
        members = np.flatnonzero(of_rank == number)
        elsewhere = _stages_elsewhere(of_rank, nodes, members)
        if len(elsewhere) < limits.late_stage_others:
            continue
        others = usual[elsewhere].max(axis=0)
        mean, of_others = float(np.nanmean(usual[number])), float(np.nanmean(others))
        if mean > limits.late_stage_times * of_others and (
            mean - of_others > limits.late_stage_pct / 100 * step_ns
        ):
            late[members] = np.maximum(host_ns[members] - others, 0.0)
    return np.nan_to_num(late) if late.any() else None


def _stages_elsewhere(of_rank: Int64, nodes: Int64, members: Int64) -> Int64:
    """The stages without a rank on the node that all ``members`` are on; none if they are on
    several."""
    if len(np.unique(nodes[members])) > 1:
        return np.empty(0, np.int64)
    return np.setdiff1d(of_rank, of_rank[nodes == nodes[members[0]]])
