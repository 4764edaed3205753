"""Modules with what their selected calls cost, summed: the shared basis of every table of modules.

Definitions: ``docs/views-modules.md#how-it-is-counted``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, with_ancestors
from torch_tb_profiler.analysis.operators.modules.hierarchy import (
    UNTOLD_COLUMNS,
    has_hierarchy,
    hierarchy_frame,
)
from torch_tb_profiler.analysis.operators.modules.times import (
    ModuleTimes,
    module_times,
    profile_times,
)
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.recording.module_tree import (
    ModuleNodes,
    ModuleTree,
    module_tree,
    profile_tree,
)
from torch_tb_profiler.analysis.recording.recomputation import has_recomputation_outside_modules
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

NO_LINKS = "The trace does not link forward and backward operators."
NO_BACKWARD = "No backward node in this trace belongs to an operator inside a module."
NOTHING_AGAIN = "No module ran again in the backward pass."
NO_FRAMES_AGAIN = (
    "Forward operators ran again in the backward pass, but the recording holds no Python frames of "
    "that thread: which modules they are of is not known. Their time is part of Backward."
)
SCRIPTED = "TorchScript tells the modules of each operator, not the calls of the modules."

MODULE_SCHEMA = {
    "path": pl.String,
    "name": pl.String,
    "module_id": pl.Int64,
    "parent": pl.String,
    "occurrences": pl.Int64,
    "operators": pl.Int64,
    "host_total_ns": pl.Int64,
    "host_self_ns": pl.Int64,
    "device_total_ns": pl.Int64,
    "device_self_ns": pl.Int64,
    "recomputations": pl.Int64,
    "recompute_host_total_ns": pl.Int64,
    "recompute_host_self_ns": pl.Int64,
    "recompute_device_total_ns": pl.Int64,
    "recompute_device_self_ns": pl.Int64,
    "backward_host_total_ns": pl.Int64,
    "backward_host_self_ns": pl.Int64,
    "backward_device_total_ns": pl.Int64,
    "backward_device_self_ns": pl.Int64,
}
"""Columns of :attr:`ModuleSums.frame`; ``parent`` is a path, null for roots."""


class ModuleSums(Struct, frozen=True, eq=False):
    """Every module with a selected call, and the modules above those; parents stand first.

    Attributes:
        frame: One row per module and place in the tree, with the columns of
            :data:`MODULE_SCHEMA`; what is unknown is 0 or null there.
        unknown: Column → why this recording says nothing about it.
        node: Per row its node of the tree the sums are over; empty where no tree was recorded.
    """

    frame: pl.DataFrame
    unknown: dict[str, str]
    node: Int64


def module_sums(trace: Trace, selection: Selection) -> ModuleSums:
    """The modules of a selection. A call is in it by its start, and then with all of its forward,
    recomputed and backward time.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    tree = module_tree(trace)
    if not tree.count and has_hierarchy(trace):
        return _scripted_sums(trace, selection)
    return _tree_sums(trace, selection, tree, module_times(trace))


def profile_sums(trace: Trace, selection: Selection) -> ModuleSums:
    """The same of Lightning's ``[pl][profile]`` ranges.

    Raises:
        SelectionError: as :func:`module_sums`.
    """
    return _tree_sums(trace, selection, profile_tree(trace), profile_times(trace))


def _scripted_sums(trace: Trace, selection: Selection) -> ModuleSums:
    """The modules of a TorchScript trace, told by its operators."""
    sums = hierarchy_frame(trace, selection)
    frame = sums.select(
        (pl.col(key) if key in sums.columns else pl.lit(None)).cast(dtype).alias(key)
        for key, dtype in MODULE_SCHEMA.items()
    )
    has_backward = bool((frame["backward_host_total_ns"] > 0).any())
    unknown = _unknown(trace, has_backward) | dict.fromkeys(UNTOLD_COLUMNS, SCRIPTED)
    return ModuleSums(frame, unknown, np.empty(0, np.int64))


def _tree_sums(
    trace: Trace, selection: Selection, tree: ModuleTree, times: ModuleTimes
) -> ModuleSums:
    chosen = slice_mask(trace, selection)[tree.slice[tree.call]]
    node = tree.node[chosen]
    count = len(tree.nodes.path)
    shown = with_ancestors(distinct_values(node), tree.nodes.parent)
    again = tree.is_recomputed[chosen]
    sums: dict[str, Int64] = {
        "occurrences": np.bincount(node[~again], minlength=count)[shown],
        "recomputations": np.bincount(node[again], minlength=count)[shown],
    }
    for key in MODULE_SCHEMA:
        values = getattr(times, key, None)
        if values is not None:
            totals = np.zeros(count, np.int64)
            np.add.at(totals, node, values[chosen])
            sums[key] = totals[shown]
    frame = pl.DataFrame({**_labels(tree.nodes, shown), **sums}, schema=MODULE_SCHEMA)
    unknown = _unknown(trace, bool((module_tree(trace).backward_of >= 0).any()))
    return ModuleSums(frame, unknown, shown)


def _labels(nodes: ModuleNodes, shown: Int64) -> dict[str, list[str | int | None]]:
    ids = nodes.module_id[shown].tolist()
    parents = gather(nodes.parent, shown).tolist()
    return {
        "path": [nodes.path[node] for node in shown],
        "name": [nodes.name[node] for node in shown],
        "module_id": [None if module_id < 0 else module_id for module_id in ids],
        "parent": [None if parent < 0 else nodes.path[parent] for parent in parents],
    }


def _unknown(trace: Trace, has_backward: bool) -> dict[str, str]:
    """Column → why this recording says nothing about it."""
    unknown = {}
    linked = trace.operators["forward"].is_not_null().any()
    no_backward = NO_BACKWARD if linked else NO_LINKS
    if not has_backward:
        unknown = {key: no_backward for key in MODULE_SCHEMA if key.startswith("backward_")}
    if not module_tree(trace).is_recomputed.any():
        reason = no_backward
        if len(backward_nodes(trace).slice):
            reason = NO_FRAMES_AGAIN if has_recomputation_outside_modules(trace) else NOTHING_AGAIN
        unknown |= {key: reason for key in MODULE_SCHEMA if key.startswith("recomput")}
    no_time = no_device_time(trace)
    if no_time is not None:
        unknown |= {key: no_time for key in MODULE_SCHEMA if "device_" in key}
    return unknown
