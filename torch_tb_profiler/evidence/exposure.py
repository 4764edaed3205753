"""Exposed communication: the time in which ranks communicate and nothing computes."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    intersect,
    subtract,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.communication.calls import timed_on_host
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import computation
from torch_tb_profiler.analysis.idle.host_threads import host_activity
from torch_tb_profiler.analysis.idle.waits import Wait, waits
from torch_tb_profiler.analysis.recording.capabilities import has_operators
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Spot
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

MOSTLY = 0.5
"""The share above which something is most of the exposed time."""


class Exposure(Struct, frozen=True, eq=False):
    """The communication of the steps; lengths are means per step in ns.

    Attributes:
        time: When communication ran and nothing computed, in the steps.
        exposed_ns: Length of that time.
        total_ns: Time in which communication ran.
        compute_only_ns: Time in which something computed and no communication ran.
        peer_to_peer_ns: The part of ``exposed_ns`` in which only sends and receives ran.
    """

    time: Intervals
    exposed_ns: float
    total_ns: float
    compute_only_ns: float
    peer_to_peer_ns: float


def exposure(context: Context) -> Exposure:
    """Measure the communication that no computation overlaps
    (``docs/views-distributed.md#definitions``)."""
    communicating = records(context.trace).intervals()
    if not len(communicating.start_ns):
        return Exposure(
            communicating, 0.0, 0.0, context.per_step_ns(computation(context.trace)), 0.0
        )
    exposed = context.within_steps(exposed_time(context.trace))
    exposed_ns, total_ns = context.per_step_ns(exposed), context.per_step_ns(communicating)
    collectives = record_intervals(context.trace, ~_is_peer_to_peer(context.trace))
    return Exposure(
        exposed,
        exposed_ns,
        total_ns,
        context.per_step_ns(computation(context.trace)) - (total_ns - exposed_ns),
        exposed_ns - context.per_step_ns(intersect(exposed, collectives)),
    )


@per_trace
def exposed_time(trace: Trace) -> Intervals:
    """The time in which communication ran and nothing computed."""
    return subtract(records(trace).intervals(), computation(trace))


def record_intervals(trace: Trace, chosen: Bools) -> Intervals:
    """The time in which any of the chosen records (a mask over them) ran."""
    known = records(trace)
    rows = chosen[known.record]
    return union(known.start_ns[rows], known.end_ns[rows])


@per_trace
def _is_peer_to_peer(trace: Trace) -> Bools:
    """Mask of the records that are sends or receives."""
    collective = records(trace).frame["collective"]
    pairs: Bools = (
        collective.is_in(communication.peer_to_peer_names()).fill_null(value=False).to_numpy()
    )
    return pairs


def can_be_hidden(context: Context, exposed: Exposure) -> bool:
    """Whether enough communication is exposed, and enough computation could overlap most of it."""
    known = entry("exposed_communication")
    if exposed.exposed_ns <= 0 or exposed.compute_only_ns < MOSTLY * exposed.exposed_ns:
        return False
    min_exposed_pct = known.parameters["min_exposed_share_pct"]
    return (
        context.share_pct(exposed.exposed_ns) > known.threshold
        and exposed.exposed_ns / exposed.total_ns * 100 > min_exposed_pct
    )


def variant(context: Context, exposed: Exposure) -> str:
    """The text variant for the program: ``pipeline`` if sends and receives are most of the exposed
    time, else ``default`` for training, ``inference``, or ``either`` without recorded operators."""
    if exposed.peer_to_peer_ns > MOSTLY * exposed.exposed_ns:
        return "pipeline"
    if is_training(context.trace):
        return "default"
    return "inference" if has_operators(context.trace) else "either"


def gain_us(context: Context, time: Intervals) -> float | None:
    """The time a mean step could save at most, in µs, without the communication of an exposed time.

    On devices only work that something waits for counts, and a step cannot become shorter than its
    host needs (``docs/advice.md#what-can-be-gained``); None if nothing is left, or it is unknown.
    """
    exposed_us = context.per_step_ns(time) / NS_PER_US
    work = context.work.filter(pl.col("is_communication"))
    if work.is_empty():
        return exposed_us or None
    start = work["start_ns"].to_numpy()
    saved_us = context.device_gain_us(
        work, total_within(time, start, start + work["dur_ns"].to_numpy())
    )
    if saved_us is None:
        return None
    # A first step in which the launch queue fills is longer than those that follow.
    usual_ns = float(np.median(context.windows.end_ns - context.windows.start_ns))
    spare_ns = usual_ns - context.per_step_ns(_host_needs(context.trace))
    return max(min(saved_us, exposed_us, spare_ns / NS_PER_US), 0.0) or None


@per_trace
def _host_needs(trace: Trace) -> Intervals:
    """The time in which a launching thread did something other than wait; calls that copy from
    pageable memory do, they stage the copy."""
    uploads = waits(trace).filter(pl.col("wait") == Wait.UPLOAD)
    staging = union(uploads["start_ns"].to_numpy(), uploads["end_ns"].to_numpy())
    return union_all(host_activity(trace), staging)


def longest_stretch(context: Context, time: Intervals) -> Spot | None:
    """The longest of some intervals, with the collective that runs there; None without any."""
    if not len(time.start_ns):
        return None
    row = int((time.end_ns - time.start_ns).argmax())
    start_ns, end_ns = int(time.start_ns[row]), int(time.end_ns[row])
    return context.spot(start_ns, end_ns, _running(context.trace, start_ns, end_ns))


def _running(trace: Trace, start_ns: int, end_ns: int) -> int | None:
    """The communicating slice that runs longest within an interval."""
    slices = communicating_slices(trace)
    start = trace.slices["start_ns"].to_numpy()[slices]
    end = start + trace.slices["dur_ns"].to_numpy()[slices]
    within = np.minimum(end, end_ns) - np.maximum(start, start_ns)
    return int(slices[within.argmax()]) if len(slices) and within.max() > 0 else None


@per_trace
def communicating_slices(trace: Trace) -> Int64:
    """Ids of the slices in which communication runs, on devices and on the host."""
    kernels = trace.device_work["slice"].to_numpy()[kernel_kinds(trace).is_communication]
    slices: Int64 = np.concatenate((kernels, timed_on_host(trace))).astype(np.int64)
    return slices
