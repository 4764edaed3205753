"""The rows of the tables of groups: each node of the tree, and equal siblings folded."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.measured.work import has_measured_work
from torch_tb_profiler.analysis.operators.group_work import GroupWork, climb
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy
from torch_tb_profiler.analysis.operators.hierarchies.operators import (
    OperatorCounts,
    operator_counts,
)
from torch_tb_profiler.analysis.operators.hierarchies.timed import TimedHierarchy
from torch_tb_profiler.analysis.operators.hierarchies.times import NodeTimes, node_times
from torch_tb_profiler.analysis.operators.hierarchies.twins import Folded, outlier
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.recording.range_domains import ranges_of_devices
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import (
    device_work_mask,
    device_work_steps,
    slice_mask,
    slice_steps,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.groups.columns import FIGURES, FOLDED, GROUPS
from torch_tb_profiler.views.groups.figures import figures, totals_ns
from torch_tb_profiler.views.measured_columns import measured_columns, measured_reasons
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table, TableSpec
from torch_tb_profiler.views.shares import of_whole

MAX_ROWS = 5000
"""Of larger trees the rows with most time are shown, with all rows above them."""

NO_API = "The recording holds no device API calls, so their part of the CPU time is unknown."
OF_DEVICES = "These are scopes that device work states: it does not say when the host was in them."
NO_RANGE = "The launch of this work was not recorded."
NO_GPU = "No device work ran in the iterations."
NO_ODD_ONE = "Fewer than three members ran, or all took the same time."


class Measures(Struct, frozen=True, eq=False):
    """All that the tables are made of.

    Attributes:
        hierarchy: The tree, work outside included.
        times: Times of its nodes.
        counts: Operators of its nodes.
        calls: Calls of its nodes.
        busy_ns: Time in which any device work of the iterations ran.
        trace: The trace.
        work: Device work of the iterations, and the node that each is of; none where counters
            measured nothing.
        unknown: Column → why this recording says nothing about it.
    """

    hierarchy: Hierarchy
    times: NodeTimes
    counts: OperatorCounts
    calls: Int64
    busy_ns: int
    trace: Trace
    work: GroupWork
    unknown: dict[str, str]

    @property
    def shown(self) -> Int64:
        """The nodes that have rows: those with a call or time in the iterations, and of too many
        the :data:`MAX_ROWS` with most time. What is above one of them is among them."""
        nodes = self.hierarchy.nodes.count
        every = np.arange(nodes)
        weight = sum(totals_ns(self.times.measures[key], every, nodes) for key in ("cpu", "gpu"))
        known = np.zeros(nodes, np.bool_)
        for key in ("cpu", "gpu"):
            known[self.times.measures[key].node] = True
        rows = np.flatnonzero(known)
        if len(rows) > MAX_ROWS:
            rows = np.sort(rows[np.argsort(-np.asarray(weight)[rows], kind="stable")][:MAX_ROWS])
        return rows


def measures(trace: Trace, timed: TimedHierarchy, selection: Selection) -> Measures:
    """What the hierarchy took in the iterations of ``selection``.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    times = node_times(trace, timed, selection)
    hierarchy = timed.hierarchy
    ranges = np.flatnonzero(hierarchy.is_call)
    slices = hierarchy.range_slice[ranges]
    in_one = np.append(times.windows.of_step, -1)[slice_steps(trace)[slices]] >= 0
    in_one &= slice_mask(trace, selection)[slices]
    node = hierarchy.call_node[hierarchy.range_call[ranges[in_one]]]
    return Measures(
        hierarchy,
        times,
        operator_counts(trace, hierarchy, selection, times.windows),
        np.bincount(node, minlength=hierarchy.nodes.count),
        _busy_ns(trace, selection, times),
        trace,
        _work(trace, selection, hierarchy, times),
        _unknown(trace, slices),
    )


def _work(trace: Trace, selection: Selection, hierarchy: Hierarchy, times: NodeTimes) -> GroupWork:
    iteration = np.append(times.windows.of_step, -1)[device_work_steps(trace)]
    node = gather(hierarchy.call_node, hierarchy.work_call)
    counted = device_work_mask(trace, selection) & (iteration >= 0) & (node >= 0)
    rows = np.flatnonzero(counted & has_measured_work(trace))
    return GroupWork(rows, node[rows])


def _busy_ns(trace: Trace, selection: Selection, times: NodeTimes) -> int:
    work, count = trace.device_work, max(len(times.windows.names), 1)
    iteration = np.append(times.windows.of_step, -1)[device_work_steps(trace)]
    iteration = np.where(device_work_mask(trace, selection), iteration, -1)
    start = work["start_ns"].to_numpy()
    return int(union_lengths(iteration, start, start + work["dur_ns"].to_numpy(), count).sum())


def _unknown(trace: Trace, ranges: Int64) -> dict[str, str]:
    unknown: dict[str, str] = {}
    if len(ranges) and ranges_of_devices(trace)[ranges].all():
        unknown = {f"cpu_{figure}_us": OF_DEVICES for figure in FIGURES}
    no_time = no_device_time(trace)
    if no_time is not None:
        unknown |= {
            f"{key}_{figure}_us": no_time for key in ("gpu", "gpu_idle") for figure in FIGURES
        }
        other = ("gpu_pct", "communication_us", "tensor_core_using_operators")
        unknown |= dict.fromkeys(other, no_time)
    if not (trace.slices["category"] == int(Category.RUNTIME)).any():
        unknown |= {f"cpu_overhead_{figure}_us": NO_API for figure in FIGURES}
    return unknown


def groups_table(measures: Measures, folded: Folded, shown: Int64) -> Table:
    """One row per node of ``shown``."""
    nodes = measures.hierarchy.nodes
    frame = _frame(measures, np.arange(nodes.count), nodes.count)
    pairs = nodes.parent * folded.count + folded.of_node
    _, pair, times = np.unique(pairs, return_inverse=True, return_counts=True)
    siblings = times[pair.reshape(-1)]
    frame = frame.with_columns(
        path=pl.Series(nodes.path, dtype=pl.String),
        parent=_parents(nodes.path, nodes.parent),
        name=pl.Series(nodes.name, dtype=pl.String),
        equal_siblings=pl.Series(siblings.astype(np.int64)),
    )
    return _table(GROUPS, frame[shown], measures)


def folded_table(measures: Measures, folded: Folded, shown: Int64) -> Table:
    """One row per folded node of the nodes of ``shown``."""
    frame = _frame(measures, folded.of_node, folded.count)
    frame = frame.with_columns(
        path=pl.Series(folded.path, dtype=pl.String),
        parent=_parents(folded.path, folded.parent),
        name=pl.Series(folded.name, dtype=pl.String),
        members=pl.Series(folded.members.astype(np.int64)),
        **_compared(measures, folded),
    )
    rows = distinct_values(folded.of_node[shown])
    table = _table(FOLDED, frame[rows], measures)
    reasons = dict.fromkeys(("odd_one", "odd_one_pct"), NO_ODD_ONE)
    return Table(table.spec, table.frame, table.null_reasons | needed(table.frame, reasons))


def _parents(paths: list[str], parent: Int64) -> pl.Series:
    return pl.Series([paths[above] if above >= 0 else None for above in parent], dtype=pl.String)


def _frame(measures: Measures, of_node: Int64, count: int) -> pl.DataFrame:
    """The columns that both tables share, one row per row that ``of_node`` names."""

    def added(values: Int64) -> pl.Series:
        total = np.zeros(count, np.int64)
        np.add.at(total, of_node, values)
        return pl.Series(total)

    hierarchy, counts = measures.hierarchy, measures.counts
    outside = np.zeros(count, np.bool_)
    outside[of_node[hierarchy.first_outside :]] = True
    frame = figures(measures.times, of_node, count).with_columns(
        operator_calls=added(counts.calls),
        tensor_core_eligible_operators=added(counts.eligible),
        tensor_core_using_operators=added(counts.using),
        calls=added(measures.calls),
        communication_us=microseconds(
            pl.Series(totals_ns(measures.times.communication, of_node, count))
        ),
        kind=pl.select(
            pl.when(pl.Series(outside)).then(pl.lit("outside")).otherwise(pl.lit("group"))
        ).to_series(),
        gpu_pct=of_whole(
            pl.Series(totals_ns(measures.times.measures["gpu"], of_node, count)), measures.busy_ns
        ),
    )
    work = climb(measures.work.rows, measures.work.group, hierarchy.nodes.parent, of_node)
    frame = frame.hstack(measured_columns(measures.trace, *work, count))
    of_host = [f"{key}_{figure}_us" for key in ("cpu", "cpu_overhead") for figure in FIGURES]
    on_host = pl.Series(~_without_range(hierarchy, of_node, count))
    return frame.with_columns(pl.when(on_host).then(pl.col(key)).alias(key) for key in of_host)


def _without_range(hierarchy: Hierarchy, of_node: Int64, count: int) -> Bools:
    """Rows of work outside all ranges whose launch is not known."""
    has_range = np.zeros(hierarchy.nodes.count, np.bool_)
    has_range[hierarchy.call_node[hierarchy.range_call]] = True
    has_range[: hierarchy.first_outside] = True  # a frame of a text has the ranges below it
    rows = np.zeros(count, np.bool_)
    rows[of_node[~has_range]] = True
    return rows


def _compared(measures: Measures, folded: Folded) -> dict[str, pl.Series]:
    """The columns of folded rows about their members."""
    nodes = measures.hierarchy.nodes
    key = "cpu" if "gpu_pct" in measures.unknown else "gpu"
    measure = measures.times.measures[key]
    iterations = max(len(measures.times.windows.names), 1)
    mean = totals_ns(measure, np.arange(nodes.count), nodes.count) / iterations
    known = np.zeros(nodes.count, np.bool_)
    for each in ("cpu", "gpu"):
        known[measures.times.measures[each].node] = True
    mean[~known] = np.nan
    order = np.argsort(folded.of_node, kind="stable")
    bounds = np.searchsorted(folded.of_node[order], np.arange(folded.count + 1))
    columns: dict[str, list[float | str | None]] = {
        name: [None] * folded.count
        for name in ("member_mean_us", "member_min_us", "member_max_us", "odd_one", "odd_one_pct")
    }
    for row in np.flatnonzero(folded.members > 1).tolist():
        members = order[bounds[row] : bounds[row + 1]]
        own = mean[members][~np.isnan(mean[members])] / NS_PER_US
        if not len(own):
            continue
        for name, value in (("mean", own.mean()), ("min", own.min()), ("max", own.max())):
            columns[f"member_{name}_us"][row] = float(value)
        odd = outlier(members, mean[members])
        if odd is not None:
            columns["odd_one"][row] = nodes.path[odd.node]
            columns["odd_one_pct"][row] = odd.off_pct if np.isfinite(odd.off_pct) else None
    return {
        name: pl.Series(values, dtype=pl.String if name == "odd_one" else pl.Float64)
        for name, values in columns.items()
    }


def _table(spec: TableSpec, frame: pl.DataFrame, measures: Measures) -> Table:
    frame = frame.with_columns(
        pl.lit(None, spec.polars_schema()[key]).alias(key) for key in measures.unknown
    ).select(list(spec.polars_schema()))
    of_host = {f"{key}_{f}_us": NO_RANGE for key in ("cpu", "cpu_overhead") for f in FIGURES}
    reasons = of_host | {"gpu_pct": NO_GPU} | measured_reasons(measures.trace) | measures.unknown
    return Table(spec, frame, needed(frame, reasons))
