"""One of several equal layers is slower than the others."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.operators.hierarchies.equal_modules import (
    EqualModules,
    equal_modules,
)
from torch_tb_profiler.analysis.operators.hierarchies.timed import timed_modules
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.sources import filter_clause
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "odd_layer"
EVIDENCE = TableSpec(
    CODE,
    "Equal layers",
    "One row per layer, slowest first.",
    (
        Column("layer", "Layer", "string", None, "Path of the module."),
        Column(
            "time_us",
            "Time",
            "number",
            "us",
            "Time per step, forward and backward: device time, or host time if no device work is "
            "recorded.",
        ),
    ),
)


def detect(context: Context) -> Finding | None:
    """Of at least four modules of one class and structure, with submodules, one takes longer than
    the median of the others by more than the threshold, while the others are alike, and its excess
    is a noticeable part of the step.

    Layers may differ on purpose (in their sizes), so no gain is estimated.
    """
    known = entry(CODE)
    if not bool(context.trace.python["module_id"].count()):
        return None
    parents = timed_modules(context.trace).hierarchy.nodes.parent
    least = known.parameters["min_layers"]
    slow = [
        group
        for group in equal_modules(context.trace, context.selection)
        if len(group.nodes) >= least and np.isin(group.nodes[0], parents) and _is_odd(group)
    ]
    slow.sort(key=_excess_ns, reverse=True)
    if not slow or (odd := slow[0].odd) is None:
        return None
    group, excess_ns = slow[0], _excess_ns(slow[0])
    if context.share_pct(excess_ns) <= known.parameters["min_step_share_pct"]:
        return None
    rows = _layers(group)
    call = context.trace.slices.row(group.odd_slice or 0, named=True)
    start_ns = call["start_ns"]
    return Finding(
        CODE,
        odd.off_pct,
        None,
        values={
            "layer": rows["layer"][0],
            "others": len(group.nodes) - 1,
            "name": group.name,
            "what": "device time" if group.is_device_time else "host time",
        },
        evidence=build_table(EVIDENCE, rows.head(int(known.parameters["max_rows"]))),
        source={
            "view": "groups",
            "table": "groups",
            "group_by": "modules",
            "filter": filter_clause("path", rows["layer"][0]),
            "sort": "-gpu_total_us,-cpu_total_us",
        },
        architecture=context.architecture_name,
        spot=context.spot(start_ns, start_ns + call["dur_ns"], call["id"]),
        at_stake_us=excess_ns / NS_PER_US,
    )


def _layers(group: EqualModules) -> pl.DataFrame:
    """The equal modules with their times, slowest first."""
    order = np.argsort(-group.mean_ns, kind="stable")
    return pl.DataFrame(
        {
            "layer": [group.paths[row] for row in order.tolist()],
            "time_us": group.mean_ns[order] / NS_PER_US,
        }
    )


def _is_odd(group: EqualModules) -> bool:
    """Whether one is slower by more than the threshold, and the others are alike."""
    known, odd = entry(CODE), group.odd
    if odd is None or odd.off_pct <= known.threshold:
        return False
    others: Float64 = group.mean_ns[group.nodes != odd.node]
    others = others[~np.isnan(others)]
    spread_pct = (others.max() - others.min()) / odd.others * 100
    return bool(spread_pct <= known.parameters["max_spread_pct"])


def _excess_ns(group: EqualModules) -> float:
    return group.odd.value - group.odd.others if group.odd is not None else 0.0
