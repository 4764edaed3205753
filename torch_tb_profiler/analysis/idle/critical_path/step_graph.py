"""The graph of a step: the work of its threads and streams, and the waits between them.

Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.idle.critical_path.device_pieces import (
    DevicePieces,
    SyncReturns,
    device_pieces,
    sync_returns,
)
from torch_tb_profiler.analysis.idle.critical_path.graph import SOURCE, PathGraph, chain_starts
from torch_tb_profiler.analysis.idle.critical_path.host_pieces import (
    HostPieces,
    ThreadIntervals,
    call_times,
    host_pieces,
    host_slices,
    tracks_of,
)
from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.analysis.idle.critical_path.thread_handoffs import (
    ThreadHandoffs,
    thread_handoffs,
)
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

STREAM_WAIT_NS = 20_000
"""Launched work that has not started for so long although its stream is free waits for another
stream, where work of one ended in the meantime."""


class StepGraph(Struct, frozen=True, eq=False):
    """The graph of a step, with the slices and categories of its nodes.

    Attributes:
        graph: The graph; times from the start of the step.
        slice: Per node its slice, -1 for none.
        part: Per node its category (:class:`PathPart`).
        track: Per node its track.
        start_ns: Start of the step, time of the trace.
    """

    graph: PathGraph
    slice: Int64
    part: Int64
    track: Int64
    start_ns: int


class StepBounds(Struct, frozen=True):
    """A step.

    Attributes:
        start_ns, end_ns: Its window.
        rows: Its rows of ``trace.steps``.
    """

    start_ns: int
    end_ns: int
    rows: tuple[int, ...]


class _NodeIndex:
    """Lookup of nodes by chain and time.

    Attributes:
        hosts: Number of nodes of threads; those of streams follow.
        chain_of: Chain of each track of a thread, -1 for none (also after the last).
    """

    def __init__(
        self, chain: Int64, start: Int64, end: Int64, *, hosts: int, chain_of: Int64
    ) -> None:
        self.hosts = hosts
        self.chain_of = chain_of
        self._stride = int(end.max(initial=0)) + 2
        self._chain = chain
        self._starts = chain * self._stride + start
        self._ends = chain * self._stride + end

    def last_ended(self, track: Int64, moment: Int64) -> Int64:
        """Per thread and moment the last node that has ended, else the source."""
        chain = self.chain_of[track]
        node = np.searchsorted(self._ends, chain * self._stride + moment, "right") - 1
        known = (node >= 0) & (chain >= 0) & (moment >= 0)
        known &= np.append(self._chain, -1)[node] == chain
        return np.where(known, node, SOURCE)

    def first_started(self, track: Int64, moment: Int64) -> Int64:
        """Per thread and moment the first node that starts then or later, -1 for none."""
        chain = self.chain_of[track]
        node = np.searchsorted(self._starts, chain * self._stride + np.maximum(moment, 0), "left")
        known = (node < len(self._chain)) & (chain >= 0)
        known &= np.append(self._chain, -1)[np.minimum(node, len(self._chain))] == chain
        return np.where(known, node, -1)


def step_graph(trace: Trace, step: StepBounds) -> StepGraph:
    """The graph of one step."""
    work = device_pieces(trace, step.start_ns, step.end_ns)
    synced = sync_returns(trace, work, step.start_ns, step.end_ns)
    slices = host_slices(trace, step.start_ns, step.end_ns)
    host = host_pieces(trace, slices, synced.waited)
    handoffs = thread_handoffs(trace, host)
    if len(handoffs.other):
        waits = synced.waited, handoffs.waited
        waiting = ThreadIntervals(
            np.concatenate([each.track for each in waits]),
            np.concatenate([each.start_ns for each in waits]),
            np.concatenate([each.end_ns for each in waits]),
        )
        host = host_pieces(trace, slices, waiting)
    return _assemble(trace, step, work, host, (synced, handoffs))


def _assemble(
    trace: Trace,
    step: StepBounds,
    work: DevicePieces,
    host: HostPieces,
    waits: tuple[SyncReturns, ThreadHandoffs],
) -> StepGraph:
    synced, handoffs = waits
    tracks, host_chain = factorize(host.track)
    chain = np.concatenate((host_chain, work.chain + len(tracks)))
    start = np.concatenate((host.start_ns, work.start_ns)) - step.start_ns
    end = np.concatenate((host.end_ns, work.end_ns)) - step.start_ns
    hosts = len(host.track)
    chain_of = np.full(trace.tracks.height + 1, -1, np.int64)
    chain_of[tracks] = np.arange(len(tracks))
    nodes = _NodeIndex(chain, start, end, hosts=hosts, chain_of=chain_of)
    edges = [
        _launch_edges(trace, step, work, nodes),
        _sync_edges(step, synced, work, nodes),
        _handoff_edges(step, handoffs, nodes, start),
    ]
    edges.append(_stream_edges(work, edges[0], end + step.start_ns, hosts))
    source, target, kind = (np.concatenate(column) for column in zip(*edges, strict=True))
    fits = (source < 0) | (end[source] <= start[target])
    source, target, kind = source[fits], target[fits], kind[fits]
    unreached = np.setdiff1d(np.flatnonzero(chain_starts(chain)), target)
    slices = np.concatenate((host.slice, trace.device_work["slice"].to_numpy()[work.row]))
    is_host = np.arange(len(chain)) < hosts
    graph = PathGraph(
        chain,
        start,
        end,
        np.concatenate((source, np.full(len(unreached), SOURCE))),
        np.concatenate((target, unreached)),
        np.concatenate((kind, np.full(len(unreached), PathPart.UNKNOWN))),
        np.where(is_host, PathPart.UNKNOWN, PathPart.KERNEL_GAP),
        is_host,
        _last_nodes(trace, step, work, host, nodes),
        step.end_ns - step.start_ns,
    )
    track = np.concatenate((host.track, tracks_of(trace, slices[hosts:])))
    return StepGraph(graph, slices, np.concatenate((host.part, work.part)), track, step.start_ns)


_Edges = tuple[Int64, Int64, Int64]


def _edges(source: Int64, target: Int64, kind: PathPart) -> _Edges:
    known = target >= 0
    return source[known], target[known], np.full(np.count_nonzero(known), kind, np.int64)


def _launch_edges(
    trace: Trace,
    step: StepBounds,
    work: DevicePieces,
    nodes: _NodeIndex,
) -> _Edges:
    """From the end of each call to the work that it launched; from its start where the work started
    before that."""
    launch = indices(trace.device_work["launch"][work.row])
    began, ended = (time - step.start_ns for time in call_times(trace, launch))
    begins = work.start_ns - step.start_ns
    moment = np.where(ended <= begins, ended, np.minimum(began, begins))
    source = nodes.last_ended(tracks_of(trace, launch), moment)
    target = np.arange(len(work.row)) + nodes.hosts
    # Work that was running when the step started waits for nothing in it.
    known = (launch >= 0) & (begins > 0)
    return _edges(source, np.where(known, target, -1), PathPart.LAUNCH)


def _sync_edges(
    step: StepBounds,
    synced: SyncReturns,
    work: DevicePieces,
    nodes: _NodeIndex,
) -> _Edges:
    """From work to the call that waited for it."""
    node_of_row = np.empty(int(work.row.max(initial=-1)) + 1, np.int64)
    node_of_row[work.row] = np.arange(len(work.row)) + nodes.hosts
    target = nodes.first_started(synced.waited.track, synced.waited.end_ns - step.start_ns)
    return _edges(node_of_row[synced.row], target, PathPart.SYNC_RETURN)


def _handoff_edges(
    step: StepBounds, handoffs: ThreadHandoffs, nodes: _NodeIndex, start: Int64
) -> _Edges:
    """From a thread to the one that continued after it."""
    until = handoffs.waited.end_ns - step.start_ns
    target = nodes.first_started(handoffs.waited.track, until)
    moment = np.append(start, 0)[target]
    return _edges(nodes.last_ended(handoffs.other, moment), target, PathPart.HAND_OVER)


def _stream_edges(work: DevicePieces, launches: _Edges, end_ns: Int64, hosts: int) -> _Edges:
    """From work of other streams of the device to work that waited :data:`STREAM_WAIT_NS` or more
    after its launch and its own stream, where one ended in the meantime."""
    count = len(work.row)
    none = np.empty(0, np.int64)
    if not count:
        return none, none, none
    base = int(work.start_ns.min())
    ends = work.end_ns
    latest = np.where(chain_starts(work.chain), base, np.append(base, ends[:-1])[:count])
    source, target, _ = launches
    launched = np.full(count, np.iinfo(np.int64).min)
    launched[target - hosts] = np.where(source >= 0, end_ns[source], launched[target - hosts])
    latest = np.maximum(latest, launched)
    late = np.flatnonzero(work.start_ns - latest >= STREAM_WAIT_NS)
    previous = np.full(len(late), -1, np.int64)
    for device in distinct_values(work.device[late]).tolist():
        rows = np.flatnonzero(work.device == device)
        rows = rows[np.argsort(ends[rows], kind="stable")]
        mine = work.device[late] == device
        last = np.searchsorted(ends[rows], work.start_ns[late[mine]], "right") - 1
        previous[mine] = np.where(last >= 0, rows[np.maximum(last, 0)], -1)
    known = (previous >= 0) & (ends[previous] > latest[late])
    return _edges(previous[known] + hosts, late[known] + hosts, PathPart.STREAM_WAIT)


def _last_nodes(
    trace: Trace,
    step: StepBounds,
    work: DevicePieces,
    host: HostPieces,
    nodes: _NodeIndex,
) -> Int64:
    """The nodes that the end of the step waits for: the last work of the step on each stream, and
    on the host the end of its range; without a range the end of each thread's work."""
    hosts = len(host.track)
    work_step = slice_steps(trace)[trace.device_work["slice"].to_numpy()[work.row]]
    rows = np.flatnonzero(np.isin(work_step, step.rows) | (work_step < 0))
    last = rows[np.append(work.chain[rows][1:] != work.chain[rows][:-1], True)[: len(rows)]]
    ended = _range_ends(trace, step, host, nodes)
    if len(ended):
        return distinct_values(np.concatenate((ended, last + hosts)))
    rows = np.flatnonzero(host.is_working)
    rows = rows[np.append(host.track[rows][1:] != host.track[rows][:-1], True)[: len(rows)]]
    return distinct_values(np.concatenate((rows, last + hosts)))


def _range_ends(trace: Trace, step: StepBounds, host: HostPieces, nodes: _NodeIndex) -> Int64:
    """The nodes at which the step's ranges on the host end: on the thread of the range, if known,
    else on the one that works most; none where the whole recording is one step."""
    steps = trace.steps[list(step.rows)]
    is_whole_recording = trace.steps.height == 1 and trace.steps["slice"][0] is None
    if steps.is_empty() or is_whole_recording or not len(host.track):
        return np.empty(0, np.int64)
    tracks, track = factorize(host.track)
    worked = np.bincount(track, (host.end_ns - host.start_ns) * host.is_working)
    busiest = tracks[int(np.argmax(worked))]
    ranges = tracks_of(trace, indices(steps["slice"]))
    until = np.minimum(steps["host_end_ns"].to_numpy(), step.end_ns) - step.start_ns
    ended = nodes.last_ended(np.where(ranges >= 0, ranges, busiest), until)
    return ended[ended >= 0]
