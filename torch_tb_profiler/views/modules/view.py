"""The module view: the ``nn.Module`` tree with its forward and backward, host and device time.

Definitions: peer-behaviour §9 for the forward columns; backward columns and the merging of
calls are ours (see :mod:`torch_tb_profiler.analysis.modules.tree`).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.forests import gather, with_ancestors
from torch_tb_profiler.analysis.modules.times import ModuleTimes, module_times, profile_times
from torch_tb_profiler.analysis.modules.tree import (
    ModuleNodes,
    ModuleTree,
    is_lightning,
    module_tree,
    profile_tree,
)
from torch_tb_profiler.analysis.selection import Selection, slice_mask
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.modules.flame import FLAME, flame_table
from torch_tb_profiler.views.modules.hierarchy import UNKNOWN_KEYS, has_hierarchy, hierarchy_frame
from torch_tb_profiler.views.null_reasons import no_device_time
from torch_tb_profiler.views.quality_notes import MODULE_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Column, Note, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

NO_LINKS = "The trace does not link forward and backward operators."
SCRIPTED = "TorchScript tells the modules of each operator, not the calls of the modules."
NO_BACKWARD = "No backward node in this trace belongs to an operator inside a module."


def _time(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text)


_COLUMNS = (
    Column("path", "Path", "string", None, "Names from the root joined by '/'; unique."),
    Column("name", "Module", "string", None, "Name of the module."),
    Column(
        "module_id",
        "Id",
        "integer",
        None,
        "Id of the module object; equal names with different ids are different modules.",
    ),
    Column("parent", "Parent", "string", None, "Path of the module that called it."),
    Column("occurrences", "Occurrences", "integer", "count", "Forward calls."),
    Column(
        "operators",
        "Operators",
        "integer",
        "count",
        "Operators the module called itself: not in a submodule, not in another operator.",
    ),
    _time("host_total_us", "Host Total", "Duration of all forward calls."),
    _time(
        "host_self_us",
        "Host Self",
        "Host total without submodules, operators and device calls inside: Python's own time.",
    ),
    _time(
        "device_total_us",
        "Device Total",
        "Device work launched in the forward calls, submodules included; parallel streams add up.",
    ),
    _time(
        "device_self_us",
        "Device Self",
        "Device work launched in the forward calls outside submodules.",
    ),
    _time(
        "mean_us",
        "Mean",
        "Device total per occurrence, or host total per occurrence where nothing ran on a device.",
    ),
    _time(
        "backward_host_total_us",
        "Backward Host Total",
        "Host time of the autograd nodes of operators run in the forward calls, submodules "
        "included; gradient accumulation counts with the node before it.",
    ),
    _time("backward_host_self_us", "Backward Host Self", "The same outside submodules."),
    _time(
        "backward_device_total_us",
        "Backward Device Total",
        "Device work launched in those autograd nodes, submodules included.",
    ),
    _time("backward_device_self_us", "Backward Device Self", "The same outside submodules."),
)

MODULES = TableSpec(
    name="modules",
    title="Modules",
    help="One row per module and place in the tree; calls of the same module there are summed.",
    columns=_COLUMNS,
    tree=("path", "parent"),
)

RANGES = TableSpec(
    name="lightning_ranges",
    title="Lightning ranges",
    help="One row per PyTorch Lightning profiler range and place in their nesting.",
    columns=_COLUMNS,
    tree=("path", "parent"),
)


def modules(trace: Trace, selection: Selection) -> View:
    """The module tree of what is selected. A call is in the selection by its start, and then
    with all of its forward and backward time.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    tree = module_tree(trace)
    if not tree.count and has_hierarchy(trace):
        return _scripted(trace, selection)
    frame = module_frame(trace, selection, tree, module_times(trace))
    unknown = _unknown_columns(trace, bool((tree.backward_of >= 0).any()))
    tables = {
        "modules": Table(MODULES, _without(frame, unknown), unknown),
        "module_flame": _flame(frame, unknown),
    }
    if is_lightning(trace):
        ranges = profile_tree(trace)
        range_frame = module_frame(trace, selection, ranges, profile_times(trace))
        tables["lightning_ranges"] = Table(RANGES, _without(range_frame, unknown), unknown)
    notes = (*quality_notes(trace, MODULE_ISSUES), *_notes(trace, tree))
    return View(tables=tables, notes=notes)


def _scripted(trace: Trace, selection: Selection) -> View:
    """The modules of a TorchScript trace, told by its operators."""
    found = hierarchy_frame(trace, selection)
    has_backward = bool((found["backward_host_total_us"] > 0).any())
    unknown = _unknown_columns(trace, has_backward) | dict.fromkeys(UNKNOWN_KEYS, SCRIPTED)
    schema = MODULES.polars_schema()
    frame = found.select(
        (pl.col(key) if key in found.columns else pl.lit(None)).cast(dtype).alias(key)
        for key, dtype in schema.items()
    )
    frame = frame.with_columns(pl.lit(None, schema[key]).alias(key) for key in unknown)
    tables = {"modules": Table(MODULES, frame, unknown), "module_flame": _flame(found, unknown)}
    return View(tables=tables, notes=quality_notes(trace, MODULE_ISSUES))


def module_frame(
    trace: Trace, selection: Selection, tree: ModuleTree, times: ModuleTimes
) -> pl.DataFrame:
    """The rows of :data:`MODULES`: every node with a selected call, and the nodes above those."""
    chosen = slice_mask(trace, selection)[tree.slice]
    node = tree.node[chosen]
    count = len(tree.nodes.path)

    def summed(values: Int64) -> Int64:
        totals = np.zeros(count, np.int64)
        np.add.at(totals, node, values[chosen])
        return totals

    occurrences = np.bincount(node, minlength=count)
    host = summed(times.host_total_ns)
    device = summed(times.device_total_ns)
    shown = with_ancestors(np.unique(node), tree.nodes.parent)
    mean = np.where(device > 0, device, host) / (np.maximum(occurrences, 1) * NS_PER_US)
    numbers = {
        "occurrences": occurrences,
        "operators": summed(times.operators),
        "host_total_us": host / NS_PER_US,
        "host_self_us": summed(times.host_self_ns) / NS_PER_US,
        "device_total_us": device / NS_PER_US,
        "device_self_us": summed(times.device_self_ns) / NS_PER_US,
        "mean_us": mean,
        "backward_host_total_us": summed(times.backward_host_total_ns) / NS_PER_US,
        "backward_host_self_us": summed(times.backward_host_self_ns) / NS_PER_US,
        "backward_device_total_us": summed(times.backward_device_total_ns) / NS_PER_US,
        "backward_device_self_us": summed(times.backward_device_self_ns) / NS_PER_US,
    }
    columns = {**_labels(tree.nodes, shown), **{k: v[shown] for k, v in numbers.items()}}
    return pl.DataFrame(columns, schema=MODULES.polars_schema())


def _labels(nodes: ModuleNodes, shown: Int64) -> dict[str, list[str | int | None]]:
    ids = nodes.module_id[shown].tolist()
    parents = gather(nodes.parent, shown).tolist()
    return {
        "path": [nodes.path[node] for node in shown],
        "name": [nodes.name[node] for node in shown],
        "module_id": [None if module_id < 0 else module_id for module_id in ids],
        "parent": [None if parent < 0 else nodes.path[parent] for parent in parents],
    }


def _unknown_columns(trace: Trace, has_backward: bool) -> dict[str, str]:
    """Column → why this trace says nothing about it."""
    unknown = {}
    keys = [column.key for column in _COLUMNS]
    if not has_backward:
        linked = trace.operators["forward"].is_not_null().any()
        reason = NO_BACKWARD if linked else NO_LINKS
        unknown = {key: reason for key in keys if key.startswith("backward_")}
    no_time = no_device_time(trace)
    if no_time is not None:
        unknown |= {key: no_time for key in keys if "device_" in key}
    return unknown


def _flame(frame: pl.DataFrame, unknown: dict[str, str]) -> Table:
    """The flame graph; its device bars are null where the device times are."""
    table = flame_table(frame)
    if "device_total_us" not in unknown:
        return table
    reasons = dict.fromkeys(("device_left_us", "device_width_us"), unknown["device_total_us"])
    return Table(FLAME, _without(table.frame, reasons), reasons)


def _without(frame: pl.DataFrame, reasons: dict[str, str]) -> pl.DataFrame:
    return frame.with_columns(pl.lit(None, pl.Float64).alias(key) for key in reasons)


def _notes(trace: Trace, tree: ModuleTree) -> tuple[Note, ...]:
    roots = np.flatnonzero(tree.backward_root == np.arange(len(tree.backward_root)))
    lost = int((tree.backward_of[roots] < 0).sum())
    if not lost or not (tree.backward_of >= 0).any():
        return ()
    lost_ns = int(trace.slices["dur_ns"].to_numpy()[roots[tree.backward_of[roots] < 0]].sum())
    return (
        Note(
            "quality",
            "backward_without_module",
            "info",
            f"{lost} backward nodes ({lost_ns / NS_PER_US:,.0f} µs of host time) belong to no "
            "module: their forward operator is unknown or ran outside every module.",
            {"nodes": lost, "host_us": lost_ns / NS_PER_US},
        ),
    )


def _missing(trace: Trace) -> str | None:
    if module_tree(trace).count or has_hierarchy(trace):
        return None
    if is_lightning(trace):
        return "The Lightning recording holds no [pl][module] ranges."
    if trace.python.height == 0:
        return (
            "The recording holds no Python frames, thus no modules (with_stack=True records them)."
        )
    return "No nn.Module was called during the recording."


SPEC = ViewSpec(
    name="modules",
    title="Modules",
    help="Which modules of the model take the time, forward and backward?",
    scope="trace",
    tables=(MODULES, FLAME, RANGES),
    function=modules,
    missing=_missing,
)
