"""The graph of a step, of what its threads and streams did.

Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.idle.critical_path.device import (
    DevicePieces,
    Returns,
    device_pieces,
    returns,
)
from torch_tb_profiler.analysis.idle.critical_path.graph import SOURCE, PathGraph, heads
from torch_tb_profiler.analysis.idle.critical_path.hand_over import HandOvers, hand_overs
from torch_tb_profiler.analysis.idle.critical_path.host import (
    HostPieces,
    call_ends,
    host_pieces,
    host_slices,
    tracks_of,
)
from torch_tb_profiler.analysis.idle.critical_path.parts import Part
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

STREAM_WAIT_NS = 20_000
"""Work that was launched, behind work of its stream that has ended, and does not start for so long
waits for another stream, where work of one ended meanwhile."""


@dataclass(frozen=True, slots=True, eq=False)
class StepGraph:
    """The graph of a step, with what its nodes are.

    Attributes:
        graph: The graph; times from the start of the step.
        slice: Per node its slice, -1 for none.
        part: Per node what it is (:class:`Part`).
        track: Per node its track.
        start_ns: Start of the step, time of the trace.
    """

    graph: PathGraph
    slice: Int64
    part: Int64
    track: Int64
    start_ns: int


@dataclass(frozen=True, slots=True)
class StepBounds:
    """A step.

    Attributes:
        start_ns, end_ns: Its window.
        rows: Rows of ``trace.steps`` that it is made of.
    """

    start_ns: int
    end_ns: int
    rows: tuple[int, ...]


class _Nodes:
    """Looks nodes up by their chain and time.

    Attributes:
        hosts: How many nodes are of threads; those of streams follow.
        chain_of: Chain of each track of a thread, -1 for none (also behind the last).
    """

    def __init__(
        self, chain: Int64, start: Int64, end: Int64, *, hosts: int, chain_of: Int64
    ) -> None:
        self.hosts = hosts
        self.chain_of = chain_of
        self._room = int(end.max(initial=0)) + 2
        self._chain = chain
        self._starts = chain * self._room + start
        self._ends = chain * self._room + end

    def ended(self, track: Int64, moment: Int64) -> Int64:
        """Per thread and moment the last node that has ended, else the source."""
        chain = self.chain_of[track]
        place = np.searchsorted(self._ends, chain * self._room + moment, "right") - 1
        known = (place >= 0) & (chain >= 0) & (moment >= 0)
        known &= np.append(self._chain, -1)[place] == chain
        return np.where(known, place, SOURCE)

    def begins(self, track: Int64, moment: Int64) -> Int64:
        """Per thread and moment the first node that starts then or later, -1 for none."""
        chain = self.chain_of[track]
        place = np.searchsorted(self._starts, chain * self._room + np.maximum(moment, 0), "left")
        known = (place < len(self._chain)) & (chain >= 0)
        known &= np.append(self._chain, -1)[np.minimum(place, len(self._chain))] == chain
        return np.where(known, place, -1)


def step_graph(trace: Trace, step: StepBounds) -> StepGraph:
    """The graph of one step."""
    work = device_pieces(trace, step.start_ns, step.end_ns)
    back = returns(trace, work, step.start_ns, step.end_ns)
    slices = host_slices(trace, step.start_ns, step.end_ns)
    first = host_pieces(trace, slices, back.waited)
    over = hand_overs(trace, first)
    host = first
    if len(over.other):
        both = type(back.waited)(
            *(
                np.concatenate((getattr(back.waited, key), getattr(over.waited, key)))
                for key in ("track", "start_ns", "end_ns")
            )
        )
        host = host_pieces(trace, slices, both)
    return _assembled(trace, step, work, host, (back, over))


def _assembled(
    trace: Trace,
    step: StepBounds,
    work: DevicePieces,
    host: HostPieces,
    waits: tuple[Returns, HandOvers],
) -> StepGraph:
    back, over = waits
    tracks, host_chain = np.unique(host.track, return_inverse=True)
    chain = np.concatenate((host_chain, work.chain + len(tracks)))
    start = np.concatenate((host.start_ns, work.start_ns)) - step.start_ns
    end = np.concatenate((host.end_ns, work.end_ns)) - step.start_ns
    hosts = len(host.track)
    chain_of = np.full(trace.tracks.height + 1, -1, np.int64)
    chain_of[tracks] = np.arange(len(tracks))
    nodes = _Nodes(chain, start, end, hosts=hosts, chain_of=chain_of)
    edges = [
        _launches(trace, step, work, nodes),
        _returned(step, back, work, nodes),
        _handed_over(step, over, nodes, start),
    ]
    edges.append(_other_streams(work, edges[0], end + step.start_ns, hosts))
    source, target, kind = (np.concatenate(each) for each in zip(*edges, strict=True))
    fits = (source < 0) | (end[source] <= start[target])
    source, target, kind = source[fits], target[fits], kind[fits]
    alone = np.setdiff1d(np.flatnonzero(heads(chain)), target)
    slices = np.concatenate((host.slice, trace.device_work["slice"].to_numpy()[work.row]))
    is_host = np.arange(len(chain)) < hosts
    graph = PathGraph(
        chain,
        start,
        end,
        np.concatenate((source, np.full(len(alone), SOURCE))),
        np.concatenate((target, alone)),
        np.concatenate((kind, np.full(len(alone), Part.UNKNOWN))),
        np.where(is_host, Part.UNKNOWN, Part.KERNEL_GAP),
        is_host,
        _last(trace, step, work, host, nodes),
        step.end_ns - step.start_ns,
    )
    track = np.concatenate((host.track, tracks_of(trace, slices[hosts:])))
    return StepGraph(graph, slices, np.concatenate((host.part, work.part)), track, step.start_ns)


_Edges = tuple[Int64, Int64, Int64]


def _edges(source: Int64, target: Int64, kind: Part) -> _Edges:
    known = target >= 0
    return source[known], target[known], np.full(np.count_nonzero(known), kind, np.int64)


def _launches(
    trace: Trace,
    step: StepBounds,
    work: DevicePieces,
    nodes: _Nodes,
) -> _Edges:
    """From the end of each call to the work that it launched; from its start where the work began
    before that."""
    launch = indices(trace.device_work["launch"][work.row])
    began, ended = (time - step.start_ns for time in call_ends(trace, launch))
    begins = work.start_ns - step.start_ns
    moment = np.where(ended <= begins, ended, np.minimum(began, begins))
    source = nodes.ended(tracks_of(trace, launch), moment)
    target = np.arange(len(work.row)) + nodes.hosts
    # Work that ran already when the step began waits for nothing in it.
    known = (launch >= 0) & (begins > 0)
    return _edges(source, np.where(known, target, -1), Part.LAUNCH)


def _returned(
    step: StepBounds,
    back: Returns,
    work: DevicePieces,
    nodes: _Nodes,
) -> _Edges:
    """From work to the call that waited for it."""
    place = np.empty(int(work.row.max(initial=-1)) + 1, np.int64)
    place[work.row] = np.arange(len(work.row)) + nodes.hosts
    target = nodes.begins(back.waited.track, back.waited.end_ns - step.start_ns)
    return _edges(place[back.row], target, Part.SYNC_RETURN)


def _handed_over(step: StepBounds, over: HandOvers, nodes: _Nodes, start: Int64) -> _Edges:
    """From a thread to the one that worked on after it."""
    until = over.waited.end_ns - step.start_ns
    target = nodes.begins(over.waited.track, until)
    moment = np.append(start, 0)[target]
    return _edges(nodes.ended(over.other, moment), target, Part.HAND_OVER)


def _other_streams(work: DevicePieces, launches: _Edges, end_ns: Int64, hosts: int) -> _Edges:
    """From work of other streams of the device to work that waited for :data:`STREAM_WAIT_NS` or
    more after all else, where one ended meanwhile."""
    count = len(work.row)
    none = np.empty(0, np.int64)
    if not count:
        return none, none, none
    base = int(work.start_ns.min())
    ends = work.end_ns
    latest = np.where(heads(work.chain), base, np.append(base, ends[:-1])[:count])
    source, target, _ = launches
    launched = np.full(count, np.iinfo(np.int64).min)
    launched[target - hosts] = np.where(source >= 0, end_ns[source], launched[target - hosts])
    latest = np.maximum(latest, launched)
    late = np.flatnonzero(work.start_ns - latest >= STREAM_WAIT_NS)
    found = np.full(len(late), -1, np.int64)
    for device in np.unique(work.device[late]).tolist():
        rows = np.flatnonzero(work.device == device)
        rows = rows[np.argsort(ends[rows], kind="stable")]
        mine = work.device[late] == device
        place = np.searchsorted(ends[rows], work.start_ns[late[mine]], "right") - 1
        found[mine] = np.where(place >= 0, rows[np.maximum(place, 0)], -1)
    known = (found >= 0) & (ends[found] > latest[late])
    return _edges(found[known] + hosts, late[known] + hosts, Part.STREAM_WAIT)


def _last(
    trace: Trace,
    step: StepBounds,
    work: DevicePieces,
    host: HostPieces,
    nodes: _Nodes,
) -> Int64:
    """The nodes that the step waits for: of each stream the last of its own work, and on the host
    where its own range ends; of a step without a range the end of each thread's work."""
    hosts = len(host.track)
    of_step = slice_steps(trace)[trace.device_work["slice"].to_numpy()[work.row]]
    mine = np.isin(of_step, step.rows) | (of_step < 0)
    rows = np.flatnonzero(mine)
    last = rows[np.append(work.chain[rows][1:] != work.chain[rows][:-1], True)[: len(rows)]]
    ended = _range_ends(trace, step, host, nodes)
    if len(ended):
        return np.unique(np.concatenate((ended, last + hosts)))
    hard = np.flatnonzero(host.is_hard)
    hard = hard[np.append(host.track[hard][1:] != host.track[hard][:-1], True)[: len(hard)]]
    return np.unique(np.concatenate((hard, last + hosts)))


def _range_ends(trace: Trace, step: StepBounds, host: HostPieces, nodes: _Nodes) -> Int64:
    """The nodes at which the step's own ranges on the host end: on the thread that has the range,
    where a slice tells it, else on that which works most; none where all of the recording is one
    step."""
    steps = trace.steps[list(step.rows)]
    is_made_up = trace.steps.height == 1 and trace.steps["slice"][0] is None
    if steps.is_empty() or is_made_up or not len(host.track):
        return np.empty(0, np.int64)
    tracks, place = np.unique(host.track, return_inverse=True)
    worked = np.bincount(place, (host.end_ns - host.start_ns) * host.is_hard)
    most = tracks[int(np.argmax(worked))]
    ranges = tracks_of(trace, indices(steps["slice"]))
    until = np.minimum(steps["host_end_ns"].to_numpy(), step.end_ns) - step.start_ns
    ended = nodes.ended(np.where(ranges >= 0, ranges, most), until)
    return ended[ended >= 0]
