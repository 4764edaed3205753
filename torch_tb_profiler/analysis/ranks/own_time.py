"""The time of a rank that is its own: it computes, or is idle for reasons other than communication.

The computation of a rank stands still for one of two kinds of reasons. It waits for a collective:
then other ranks or links decide how long. Or it waits for its own host, its input, a pause or a
launch: then the rank itself is the reason, and in a synchronous job all others wait for it.

A gap of the computation is the host's as long as what ends the gap was not launched and the host is
not blocked in a synchronizing call; in the rest of it, it is communication's until the last
collective that ended in it. Definitions: ``docs/views-ranks.md#own-time``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import rows_of_values
from torch_tb_profiler.analysis.algebra.forests import indices_at
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.communication.calls import timed_on_host
from torch_tb_profiler.analysis.communication.roles import (
    Role,
    computation,
    role_intervals,
    slice_roles,
)
from torch_tb_profiler.analysis.idle.gaps import Gaps, gaps_between
from torch_tb_profiler.analysis.idle.garbage_collection import garbage_collection
from torch_tb_profiler.analysis.idle.waits import waits
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.knowledge.phases import phase_of_words, range_rule
from torch_tb_profiler.knowledge.rank_causes import is_checkpoint, rank_causes_file
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class OwnTime(Struct, frozen=True, eq=False):
    """What a rank did over its recording; all but ``communication``, ``loading`` and ``pausing``
    are disjoint.

    Attributes:
        computation: It computed, alone or while it communicated.
        communication: It communicated, alone or not.
        blocked: It did not compute, waiting for communication.
        input: It did not compute, and its host loaded or waited for a batch.
        collection: Likewise, and its host collected garbage.
        checkpoint: Likewise, and its host wrote a checkpoint.
        host: Likewise, and its host had not launched the next work for another reason.
        device: It did not compute though the next work was launched, or for a blocking call.
        loading: Its host loaded or waited for a batch, whether it computed or not.
        pausing: Likewise, and its host collected garbage or wrote a checkpoint.
    """

    computation: Intervals
    communication: Intervals
    blocked: Intervals
    input: Intervals
    collection: Intervals
    checkpoint: Intervals
    host: Intervals
    device: Intervals
    loading: Intervals
    pausing: Intervals


@per_trace
def own_time(trace: Trace) -> OwnTime:
    """What the rank of a recording did when."""
    computing = computation(trace)
    communicating = role_intervals(trace)[Role.COMMUNICATION]
    kinds = kernel_kinds(trace)
    # Kernels of damaged files may have no duration: then the host is what computes.
    ran = trace.device_work["dur_ns"].to_numpy() > 0
    kernels = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication & ran)
    gaps = gaps_between(trace, computing, kernels) if len(kernels) else _host_gaps(trace, computing)
    idle = Intervals(gaps.start_ns, gaps.end_ns)
    late, may_wait = _late(trace, gaps, on_host=not len(kernels))
    may_wait = union_all(may_wait, intersect(late, _host_communication(trace)))
    until = _until_last_call(trace, gaps)
    blocked = intersect(intersect(may_wait, communicating), until)
    rest = subtract(late, blocked)
    parts = []
    stops = (garbage_collection(trace), _checkpoints(trace), _loading(trace))
    for reason in stops:
        part = intersect(rest, reason)
        rest = subtract(rest, part)
        parts.append(part)
    collection, checkpoint, waiting = parts
    device = subtract(idle, union_all(blocked, collection, checkpoint, waiting, rest))
    return OwnTime(
        computing, communicating, blocked, waiting, collection, checkpoint, rest, device,
        loading=stops[2], pausing=union_all(*stops[:2]),
    )  # fmt: skip


def _host_gaps(trace: Trace, computing: Intervals) -> Gaps:
    """The gaps of a rank that computes on its host: no launch ends them."""
    before = np.append(trace.meta.start_ns, computing.end_ns)
    after = np.append(computing.start_ns, max(trace.meta.end_ns, int(before[-1])))
    filled = after > before
    start, end = before[filled], after[filled]
    return Gaps(start, end, np.full(len(start), -1), end)


def _late(trace: Trace, gaps: Gaps, on_host: bool) -> tuple[Intervals, Intervals]:
    """The parts of gaps in which the host had launched nothing and was free to, and those in which
    the rank may wait for communication."""
    if on_host or not (gaps.launch >= 0).any():
        # No launch is recorded: whatever is not communication is the host's.
        idle = Intervals(gaps.start_ns, gaps.end_ns)
        return idle, idle
    launched = _filled(gaps.host_end_ns, gaps.end_ns)
    waiting = waits(trace)
    wait_track = waiting["track"].to_numpy()
    wait_start, wait_end = waiting["start_ns"].to_numpy(), waiting["end_ns"].to_numpy()
    late, waited = [empty()], [empty(), launched]
    track_of_gap = indices_at(trace.slices["track"], gaps.launch)
    for track, rows in rows_of_values(track_of_gap).items():
        before_launch = _filled(gaps.start_ns[rows], gaps.host_end_ns[rows])
        calls = wait_track == track
        in_call = intersect(before_launch, union(wait_start[calls], wait_end[calls]))
        late.append(subtract(before_launch, in_call))
        waited.append(in_call if track >= 0 else before_launch)
    return union_all(*late), union_all(*waited)


def _filled(start_ns: Int64, end_ns: Int64) -> Intervals:
    some = end_ns > start_ns
    return Intervals(start_ns[some], end_ns[some])


def _until_last_call(trace: Trace, gaps: Gaps) -> Intervals:
    """Of each gap the part until the last end of a collective in it: what follows that end does not
    wait for communication, and a collective that goes on does not hold the computation up."""
    rows = np.flatnonzero(slice_roles(trace) == Role.COMMUNICATION)
    slices = trace.slices.select("start_ns", "dur_ns")[rows]
    ends = (slices["start_ns"] + slices["dur_ns"]).to_numpy()
    if not len(ends):
        return empty()
    on_host = np.isin(rows, timed_on_host(trace))
    # Its thread first wakes who waits, and ends its range when it runs again.
    late = rank_causes_file().limits.late_end_pct / 100
    lag_ns = (late * (gaps.end_ns - gaps.start_ns)).astype(np.int64)
    last = np.maximum(
        _last_before(ends[~on_host], gaps.end_ns), _last_before(ends[on_host], gaps.end_ns + lag_ns)
    )
    return _filled(gaps.start_ns, np.minimum(last, gaps.end_ns))


def _last_before(times: Int64, until_ns: Int64) -> Int64:
    """Per ``until_ns`` the last of some times up to it; the lowest number where there is none."""
    ordered = np.append(np.sort(times), np.iinfo(np.int64).min)
    return ordered[np.searchsorted(ordered[:-1], until_ns, "right") - 1]


def _host_communication(trace: Trace) -> Intervals:
    return _union_of(trace, timed_on_host(trace))


def _loading(trace: Trace) -> Intervals:
    """When the host loaded, or waited for, a batch."""
    category = trace.slices["category"].to_numpy()
    ranges = np.flatnonzero(category == Category.ANNOTATION)
    frames = np.flatnonzero(category == Category.PYTHON_FUNCTION)
    names = trace.slices["name_code"].to_numpy()
    by_range = codes.names_match(trace, names[ranges], _loads_by_range)
    by_frame = codes.names_match(trace, names[frames], _loads_by_frame)
    rows = np.concatenate(
        (np.flatnonzero(category == Category.DATALOADER), ranges[by_range], frames[by_frame])
    )
    return _union_of(trace, rows)


def _loads_by_range(name: str) -> bool:
    rule = range_rule(name)
    return (phase_of_words(name) if rule is None else rule.phase) == "dataloader"


def _loads_by_frame(name: str) -> bool:
    rule = range_rule(name)
    return rule is not None and rule.phase == "dataloader"


def _checkpoints(trace: Trace) -> Intervals:
    """When the host wrote a checkpoint."""
    names = trace.slices["name_code"].to_numpy()
    host = np.flatnonzero(~np.isin(trace.slices["category"].to_numpy(), DEVICE_CATEGORIES))
    return _union_of(trace, host[codes.names_match(trace, names[host], is_checkpoint)])


def _union_of(trace: Trace, rows: Int64) -> Intervals:
    start = trace.slices["start_ns"].to_numpy()[rows]
    return union(start, start + trace.slices["dur_ns"].to_numpy()[rows])
