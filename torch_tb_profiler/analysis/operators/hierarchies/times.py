"""The times of the nodes of a hierarchy in every iteration.

Definitions: ``docs/views-groups.md#times``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.operators.hierarchies.timed import (
    NodeStretches,
    PlacedWork,
    TimedHierarchy,
    host_stretches,
)
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import (
    device_work_mask,
    device_work_steps,
    in_phase,
    time_range,
)
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import no_phases, slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.model import Trace

MEASURES = ("cpu", "gpu", "cpu_overhead", "gpu_idle")


class NodeMeasure(Struct, frozen=True, eq=False):
    """One measure of nodes by iteration; a node that is not there in an iteration has none.

    Attributes:
        node: Node, ascending.
        iteration: Iteration, a number of the windows; ascending in a node.
        ns: Time there.
    """

    node: Int64
    iteration: Int64
    ns: Int64


class NodeTimes(Struct, frozen=True, eq=False):
    """The times of all nodes.

    Attributes:
        windows: The iterations.
        measures: By :data:`MEASURES`.
        communication: When communication kernels launched in each node ran; overlaps count once.
        backward_communication: The part of it that the backward pass launched.
        work_ns: Durations of the device work of the iterations, added up.
        outside_ns: Those of work outside the hierarchy.
        left_out_ns: Those of selected work that is in no iteration.
    """

    windows: StepWindows
    measures: dict[str, NodeMeasure]
    communication: NodeMeasure
    backward_communication: NodeMeasure
    work_ns: int
    outside_ns: int
    left_out_ns: int


def node_times(trace: Trace, timed: TimedHierarchy, selection: Selection) -> NodeTimes:
    """CPU, GPU, CPU overhead and GPU idle of every node in each iteration of ``selection``.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    windows = step_windows(trace, selection)
    boundaries = _host_boundaries(trace, selection, windows)
    stretches = timed.host, timed.api
    if selection.phase is not None:
        stretches = host_stretches(trace, timed.hierarchy, in_phase(trace, selection))
    cpu, api = (_host(part, boundaries, windows) for part in stretches)
    selected = device_work_mask(trace, selection)
    iteration = np.append(windows.of_step, -1)[device_work_steps(trace)]
    counted = selected & (iteration >= 0)
    gpu, spans = _device(trace, timed, np.where(counted, iteration, -1), windows)
    duration = trace.device_work["dur_ns"].to_numpy()
    outside = gather(timed.hierarchy.call_node, timed.hierarchy.work_call)
    is_outside = (outside >= timed.hierarchy.first_outside) | (outside < 0)
    return NodeTimes(
        windows,
        {
            "cpu": cpu,
            "gpu": gpu,
            "cpu_overhead": _less(cpu, api, windows),
            "gpu_idle": _less(spans, gpu, windows),
        },
        *_communication(trace, timed, np.where(counted, iteration, -1), windows),
        int(duration[counted].sum()),
        int(duration[counted & is_outside].sum()),
        int(duration[selected & ~counted].sum()),
    )


class _Boundaries(Struct, frozen=True, eq=False):
    """The stretches of the host's time that are iterations, of each process disjoint."""

    process: Int64
    start_ns: Int64
    end_ns: Int64
    window: Int64
    of_every_process: bool


def _host_boundaries(trace: Trace, selection: Selection, windows: StepWindows) -> _Boundaries:
    steps = trace.steps
    rows = np.flatnonzero(windows.of_step >= 0)
    start = steps["host_start_ns"].to_numpy()[rows]
    end = steps["host_end_ns"].to_numpy()[rows]
    process = steps["process"].fill_null(-1).to_numpy().astype(np.int64)
    first_ns, last_ns = time_range(trace, selection)
    start = start if first_ns is None else np.maximum(start, first_ns)
    end = end if last_ns is None else np.minimum(end, last_ns)
    order = np.lexsort((end, start, process[rows]))
    rows, start, end = rows[order], start[order], end[order]
    of_rows = process[rows]
    for row in range(1, len(rows)):
        if of_rows[row] == of_rows[row - 1]:  # steps of several threads may overlap
            start[row] = max(start[row], end[row - 1])
            end[row] = max(end[row], start[row])
    end = np.maximum(end, start)
    alone = len(distinct_values(process)) <= 1
    return _Boundaries(of_rows, start, end, windows.of_step[rows], alone)


def _host(parts: NodeStretches, boundaries: _Boundaries, windows: StepWindows) -> NodeMeasure:
    """Lengths of stretches by node and iteration, cut at the borders of the iterations."""
    keys: list[Int64] = []
    lengths: list[Int64] = []
    count = max(len(windows.names), 1)
    for process in distinct_values(boundaries.process).tolist():
        of_process = boundaries.process == process
        inside = np.ones(len(parts.node), np.bool_)
        if not boundaries.of_every_process:
            inside = parts.process == process
        element, window, length = _cut(
            parts.start_ns[inside],
            parts.end_ns[inside],
            boundaries.start_ns[of_process],
            boundaries.end_ns[of_process],
        )
        keys.append(parts.node[inside][element] * count + boundaries.window[of_process][window])
        lengths.append(length)
    nothing = [np.empty(0, np.int64)]
    return _summed(np.concatenate(keys or nothing), np.concatenate(lengths or nothing), count)


def _cut(
    start_ns: Int64, end_ns: Int64, window_start_ns: Int64, window_end_ns: Int64
) -> tuple[Int64, Int64, Int64]:
    """The pieces of intervals inside disjoint borders: interval, border, length."""
    first = np.searchsorted(window_end_ns, start_ns, "right")
    last = np.searchsorted(window_start_ns, end_ns, "left")
    counts = np.maximum(last - first, 0)
    element = np.repeat(np.arange(len(counts)), counts)
    window = np.arange(len(element)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    start = np.maximum(start_ns[element], window_start_ns[window])
    end = np.minimum(end_ns[element], window_end_ns[window])
    return element, window, np.maximum(end - start, 0)


def _summed(keys: Int64, values: Int64, windows: int) -> NodeMeasure:
    distinct, inverse = _compact(keys)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, inverse, values)
    return NodeMeasure(distinct // windows, distinct % windows, total)


def _compact(keys: Int64) -> tuple[Int64, Int64]:
    """The distinct keys, ascending, and the place of each key among them."""
    if not len(keys) or np.all(keys[1:] >= keys[:-1]):
        changes = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        return keys[changes], np.cumsum(changes) - 1
    distinct, inverse = factorize(keys)
    return distinct, inverse.reshape(-1)


def _device(
    trace: Trace, timed: TimedHierarchy, iteration: Int64, windows: StepWindows
) -> tuple[NodeMeasure, NodeMeasure]:
    """By node and iteration, when device work of it ran, and the spans of its calls' work: from
    the first start to the last end of what one call launched in the iteration."""
    count = max(len(windows.names), 1)
    start_ns = trace.device_work["start_ns"].to_numpy()
    end_ns = start_ns + trace.device_work["dur_ns"].to_numpy()
    work = timed.work
    keys, busy = _busy(trace, work, iteration, count)
    in_one = iteration[work.row_by_call] >= 0
    row, node = work.row_by_call[in_one], work.node_by_call[in_one]
    call, of_row = work.call_by_call[in_one], iteration[row]
    begins = _begins(call, node, of_row)
    heads = np.flatnonzero(begins)
    span_keys = node[heads] * count + of_row[heads]
    spans = np.zeros(len(keys), np.int64)
    if len(heads):
        first = np.minimum.reduceat(start_ns[row], heads)
        last = np.maximum.reduceat(end_ns[row], heads)
        spans = union_lengths(np.searchsorted(keys, span_keys), first, last, len(keys))
    nodes, iterations = keys // count, keys % count
    return NodeMeasure(nodes, iterations, busy), NodeMeasure(nodes, iterations, spans)


def _communication(
    trace: Trace, timed: TimedHierarchy, iteration: Int64, windows: StepWindows
) -> tuple[NodeMeasure, NodeMeasure]:
    """By node and iteration, when communication ran, and when such that the backward pass
    launched."""
    count = max(len(windows.names), 1)
    moves = kernel_kinds(trace).is_communication
    of_backward = np.zeros(len(moves), np.bool_)
    if moves.any() and no_phases(trace) is None:
        phases = slice_phases(trace)[trace.device_work["slice"].to_numpy()]
        of_backward = moves & (phases == Phase.BACKWARD)
    measures = []
    for chosen in (moves, of_backward):
        keys, busy = _busy(trace, timed.work, np.where(chosen, iteration, -1), count)
        measures.append(NodeMeasure(keys // count, keys % count, busy))
    return measures[0], measures[1]


def _busy(trace: Trace, work: PlacedWork, iteration: Int64, count: int) -> tuple[Int64, Int64]:
    """Node and iteration as keys, ascending, and the time in which device work of each ran.

    Args:
        trace: The trace.
        work: The device work of each node.
        iteration: Iteration of each row of ``trace.device_work``; -1 for work that does not count.
        count: The number of iterations.
    """
    start_ns = trace.device_work["start_ns"].to_numpy()
    end_ns = start_ns + trace.device_work["dur_ns"].to_numpy()
    in_one = iteration[work.row] >= 0
    row, node = work.row[in_one], work.node[in_one]
    keys, inverse = _compact(node * count + iteration[row])
    return keys, union_lengths(inverse, start_ns[row], end_ns[row], len(keys))


def _begins(*columns: Int64) -> Bools:
    """Where any column differs from the row before."""
    changes = np.zeros(len(columns[0]), np.bool_)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return changes


def _less(whole: NodeMeasure, part: NodeMeasure, windows: StepWindows) -> NodeMeasure:
    """``whole`` less what ``part`` has of the same node and iteration."""
    count = max(len(windows.names), 1)
    keys = whole.node * count + whole.iteration
    row = positions_in(keys, part.node * count + part.iteration)
    ns = whole.ns.copy()
    np.subtract.at(ns, row[row >= 0], part.ns[row >= 0])
    return NodeMeasure(whole.node, whole.iteration, np.maximum(ns, 0))
