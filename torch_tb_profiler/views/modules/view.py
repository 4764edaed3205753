"""The module view: the ``nn.Module`` tree with its forward and backward, host and device time.

Definitions: ``docs/views-modules.md#how-it-is-counted``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.measured.work import has_measured_work
from torch_tb_profiler.analysis.operators.group_work import work_of_modules
from torch_tb_profiler.analysis.operators.modules.hierarchy import has_hierarchy
from torch_tb_profiler.analysis.operators.modules.outside import ModuleCoverage, module_coverage
from torch_tb_profiler.analysis.operators.modules.sums import (
    MODULE_SCHEMA,
    ModuleSums,
    module_sums,
    profile_sums,
)
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.recording.module_tree import (
    ModuleTree,
    is_lightning,
    module_tree,
    profile_tree,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.flame_bars import flame_columns, flame_table
from torch_tb_profiler.views.measured_columns import (
    MEASURED_COLUMNS,
    frame_of_means,
    measured_columns,
    measured_reasons,
)
from torch_tb_profiler.views.modules.answer import answer
from torch_tb_profiler.views.null_reasons import missing_reason, needed, recorded_reason
from torch_tb_profiler.views.quality_notes import MODULE_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Column, Fact, Note, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

NO_FRAMES = "The recording holds no Python frames, so modules are unknown."
NO_CALL = "It is not called in the selection."
NO_TIME = "No device work is in the selection."
NO_MODULE = "This row is device work outside all modules."

OUTSIDE = "(outside every module)"
OF_EVERY_ROW = {"path", "name", "parent", "module_id", "device_total_us", "device_self_us", "kind"}
MEANS = {"mean_us": "host", "mean_device_us": "device"}
"""Column → whose total it divides by the occurrences."""


def _time(key: str, title: str, text: str) -> Column:
    """A time: means are read together, and those of the host, and those of the device; what a
    module took itself adds up, what holds submodules does not."""
    family = "mean" if key in MEANS else "host" if "host" in key else "device"
    return Column(
        key, title, "number", "us", text, family=family, additive=key.endswith("_self_us")
    )


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
    Column("occurrences", "Occurrences", "integer", "count", "Forward calls.", additive=True),
    Column(
        "operators",
        "Operators",
        "integer",
        "count",
        "Operators called by the module itself: not inside a submodule or another operator.",
        additive=True,
    ),
    _time("host_total_us", "Host Total", "Duration of all forward calls."),
    _time(
        "host_self_us",
        "Host Self",
        "Host total without submodules, operators and device calls: Python's own time.",
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
    _time("mean_us", "Host Mean", "Host total per occurrence."),
    _time(
        "backward_host_total_us",
        "Backward Host Total",
        "Host time of the autograd nodes of operators run in the forward calls, submodules "
        "included; gradient accumulation counts with the node before it.",
    ),
    _time(
        "backward_host_self_us",
        "Backward Host Self",
        "Part of Backward Host Total outside submodules.",
    ),
    _time(
        "backward_device_total_us",
        "Backward Device Total",
        "Device work launched in those autograd nodes, submodules included.",
    ),
    _time(
        "backward_device_self_us",
        "Backward Device Self",
        "Part of Backward Device Total outside submodules.",
    ),
    _time("mean_device_us", "Device Mean", "Device total per occurrence."),
    Column(
        "recomputations",
        "Recomputations",
        "integer",
        "count",
        "Calls that ran again in the backward pass (activation checkpointing); not counted as "
        "occurrences.",
        additive=True,
    ),
    _time(
        "recompute_host_total_us",
        "Recompute Host Total",
        "Duration of those calls, without backward nodes inside; submodules included.",
    ),
    _time(
        "recompute_host_self_us",
        "Recompute Host Self",
        "Part of Recompute Host Total outside submodules.",
    ),
    _time(
        "recompute_device_total_us",
        "Recompute Device Total",
        "Device work launched in those calls, submodules included.",
    ),
    _time(
        "recompute_device_self_us",
        "Recompute Device Self",
        "Part of Recompute Device Total outside submodules.",
    ),
    Column(
        "kind",
        "Kind",
        "string",
        None,
        "module; outside: device work launched outside all modules (such as by an optimizer); "
        "unlinked: device work with no launch recorded.",
    ),
    *MEASURED_COLUMNS,
)

MODULES = TableSpec(
    name="modules",
    title="Modules",
    help="One row per module and position in the tree; calls of the same module there are summed. "
    "Device work outside all modules has separate rows.",
    columns=_COLUMNS,
    tree=("path", "parent"),
)

FLAME = TableSpec(
    name="module_flame",
    title="Module flame graph",
    help="One bar per module of the tree, widths being forward time, laid out left to right.",
    columns=flame_columns("module"),
    tree=("path", "parent"),
)

RANGES = TableSpec(
    name="lightning_ranges",
    title="Lightning ranges",
    help="One row per PyTorch Lightning profiler range and position in their nesting.",
    columns=_COLUMNS,
    tree=("path", "parent"),
)


def modules(trace: Trace, selection: Selection) -> View:
    """The module tree of what is selected. A call is in the selection by its start, and then
    with all of its forward, recomputed and backward time.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    sums = module_sums(trace, selection)
    coverage = module_coverage(trace, selection)
    has_tree = module_tree(trace).count > 0
    outside = _outside(coverage) if has_tree else []
    measured = _measured(trace, selection, module_tree(trace), sums)
    reasons = measured_reasons(trace)
    tables = {
        "modules": _table(MODULES, sums, measured, reasons, outside),
        "module_flame": _flame(sums),
    }
    if is_lightning(trace):
        ranges = profile_sums(trace, selection)
        measured = _measured(trace, selection, profile_tree(trace), ranges)
        tables["lightning_ranges"] = _table(RANGES, ranges, measured, reasons, [])
    notes = (*quality_notes(trace, MODULE_ISSUES), *_notes(trace, module_tree(trace)))
    facts = (_coverage_fact(coverage, no_device_time(trace)),) if has_tree else ()
    return View(tables=tables, facts=facts, notes=notes)


def _outside(coverage: ModuleCoverage) -> list[tuple[str, str, int]]:
    """Name, kind and device time of the rows of device work that is of no module."""
    rows = (
        (OUTSIDE, "outside", coverage.outside_ns),
        (UNKNOWN_LAUNCH, "unlinked", coverage.unlinked_ns),
    )
    return [row for row in rows if row[2]]


def _coverage_fact(coverage: ModuleCoverage, unknown: str | None) -> Fact:
    share = coverage.inside_pct if unknown is None else None
    return Fact(
        "module_device_time_pct",
        "Device time in modules",
        share,
        "pct",
        None,
        "Share of the duration of all kernels, copies and memsets in the selection that modules "
        "launched, in forward, recomputed or backward calls; the rest is in the rows of kind "
        "outside and unlinked.",
        None if share is not None else unknown or NO_TIME,
    )


def _measured(
    trace: Trace, selection: Selection, tree: ModuleTree, sums: ModuleSums
) -> pl.DataFrame:
    """What counters measured of all device work of each row of ``sums``."""
    count = len(tree.nodes.path)
    if not len(sums.node) or not has_measured_work(trace):
        return frame_of_means({}, sums.frame.height)
    work = work_of_modules(trace, selection, tree)
    return measured_columns(trace, *work, count)[sums.node]


def _table(
    spec: TableSpec,
    sums: ModuleSums,
    measured: pl.DataFrame,
    not_measured: dict[str, str],
    outside: list[tuple[str, str, int]],
) -> Table:
    """The rows of ``sums`` in µs and what was measured of each, with nulls for what the recording
    does not tell, and below them those of device work that is of no module."""
    known = sums.frame.with_columns(
        pl.lit(None, dtype).alias(key)
        for key, dtype in MODULE_SCHEMA.items()
        if key in sums.unknown
    )
    times = [key for key in MODULE_SCHEMA if key.endswith("_ns")]
    in_us = {key: f"{key.removesuffix('_ns')}_us" for key in times}
    means = (
        microseconds(known[f"{side}_total_ns"], known["occurrences"]).alias(key)
        for key, side in MEANS.items()
    )
    filled = known.with_columns(
        *means, *(microseconds(known[key]).alias(in_us[key]) for key in times)
    )
    filled = filled.hstack(measured)
    reasons = {in_us.get(key, key): text for key, text in sums.unknown.items()} | not_measured
    for key, side in MEANS.items():
        of_total = sums.unknown.get(f"{side}_total_ns", NO_CALL)
        reasons[key] = sums.unknown.get("occurrences", of_total)
    frame = filled.with_columns(kind=pl.lit("module")).select(list(spec.polars_schema()))
    if outside:
        rows = [
            {"path": name, "name": name, "kind": kind}
            | dict.fromkeys(("device_total_us", "device_self_us"), ns / NS_PER_US)
            for name, kind, ns in outside
        ]
        of_modules = (key for key in frame.columns if key not in OF_EVERY_ROW)
        reasons = dict.fromkeys(of_modules, NO_MODULE) | needed(frame, reasons)
        frame = pl.concat((frame, pl.DataFrame(rows, schema=spec.polars_schema())))
    return Table(spec, frame, needed(frame, reasons))


def _flame(sums: ModuleSums) -> Table:
    """The flame graph; its device bars are null where the device times are."""
    table = flame_table(FLAME, sums.frame)
    if "device_total_ns" not in sums.unknown:
        return table
    reasons = dict.fromkeys(("device_left_us", "device_width_us"), sums.unknown["device_total_ns"])
    unknown = [pl.lit(None, pl.Float64).alias(key) for key in reasons]
    return Table(FLAME, table.frame.with_columns(unknown), reasons)


def _notes(trace: Trace, tree: ModuleTree) -> tuple[Note, ...]:
    nodes = backward_nodes(trace)
    outermost = nodes.slice[nodes.outer < 0]
    without = outermost[tree.backward_of[outermost] < 0]
    lost = len(without)
    if not lost or not (tree.backward_of >= 0).any():
        return ()
    lost_ns = int(trace.slices["dur_ns"].to_numpy()[without].sum())
    return (
        Note(
            "quality",
            "backward_without_module",
            "info",
            f"{lost:,} backward nodes ({lost_ns / NS_PER_US:,.0f} µs of host time) belong to no "
            "module: their forward operator is unknown or ran outside all modules.",
            {"nodes": lost, "host_us": lost_ns / NS_PER_US},
        ),
    )


def _missing(trace: Trace) -> str | None:
    if module_tree(trace).count or has_hierarchy(trace):
        return None
    if is_lightning(trace):
        return "The Lightning recording holds no [pl][module] ranges."
    if "python_frames_left_out" in trace.quality.counts:
        return "Python frames, and with them modules, were skipped while reading, as requested."
    if trace.python.height == 0:
        own = recorded_reason(trace, "modules", "python")
        return own or missing_reason(trace, "modules", NO_FRAMES)
    return "No nn.Module was called during the recording."


SPEC = ViewSpec(
    name="modules",
    title="Operators: Module",
    help="Which modules of the model take the time, forward and backward?",
    scope="trace",
    tables=(MODULES, FLAME, RANGES),
    function=modules,
    missing=_missing,
    answer=answer,
)
