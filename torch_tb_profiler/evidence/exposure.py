"""Communication that no computation hides: when, how much, and where to look at it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

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
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Spot
from torch_tb_profiler.evidence.program import tells_use, trains
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

MOSTLY = 0.5
"""The share from which on something is most of the exposed time."""


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """The communication of the steps (means per step in ns).

    Attributes:
        time: When any ran and nothing computed, in the steps.
        exposed_ns: How long that is.
        total_ns: How long any ran.
        alone_ns: How long something computed and none ran.
        pairs_ns: The part of ``exposed_ns`` in which only sends and receives ran.
    """

    time: Intervals
    exposed_ns: float
    total_ns: float
    alone_ns: float
    pairs_ns: float


def exposure(context: Context) -> Exposure:
    """How much of the communication computation does not hide
    (``docs/views-distributed.md#definitions``)."""
    talking = records(context.trace).intervals()
    if not len(talking.start_ns):
        return Exposure(talking, 0.0, 0.0, context.in_steps_ns(computation(context.trace)), 0.0)
    exposed = context.within_steps(exposed_time(context.trace))
    exposed_ns, total_ns = context.in_steps_ns(exposed), context.in_steps_ns(talking)
    of_all = ranges_of(context.trace, ~_between_pairs(context.trace))
    return Exposure(
        exposed,
        exposed_ns,
        total_ns,
        context.in_steps_ns(computation(context.trace)) - (total_ns - exposed_ns),
        exposed_ns - context.in_steps_ns(intersect(exposed, of_all)),
    )


@per_trace
def exposed_time(trace: Trace) -> Intervals:
    """When communication ran and nothing computed."""
    return subtract(records(trace).intervals(), computation(trace))


def ranges_of(trace: Trace, chosen: Bools) -> Intervals:
    """When any of some records (a mask over them) ran."""
    known = records(trace)
    of = chosen[known.record]
    return union(known.start_ns[of], known.end_ns[of])


@per_trace
def _between_pairs(trace: Trace) -> Bools:
    """Per record whether it is a send or receive."""
    collective = records(trace).frame["collective"]
    pairs: Bools = (
        collective.is_in(communication.peer_to_peer_names()).fill_null(value=False).to_numpy()
    )
    return pairs


def can_be_hidden(context: Context, found: Exposure) -> bool:
    """Whether enough is exposed, and enough computes that most of it could run beside."""
    known = entry("exposed_communication")
    if found.exposed_ns <= 0 or found.alone_ns < MOSTLY * found.exposed_ns:
        return False
    least = known.parameters["min_exposed_share_pct"]
    return (
        context.share_pct(found.exposed_ns) > known.threshold
        and found.exposed_ns / found.total_ns * 100 > least
    )


def variant(context: Context, exposed: Exposure) -> str:
    """The text for what communicates: ``pipeline`` where sends and receives are most of it, else
    ``default``, which is training, ``inference``, or ``either`` where no operators tell which."""
    if exposed.pairs_ns > MOSTLY * exposed.exposed_ns:
        return "pipeline"
    if trains(context.trace):
        return "default"
    return "inference" if tells_use(context.trace) else "either"


def gain_us(context: Context, time: Intervals) -> float | None:
    """What a mean step could save at most, in µs, without the communication of some exposed time.

    On devices only what something waits for counts, and the host needs its time too
    (``docs/advice.md#what-can-be-gained``); None where that leaves nothing, or cannot be told.
    """
    exposed_us = context.in_steps_ns(time) / NS_PER_US
    work = context.work.filter(pl.col("is_communication"))
    if work.is_empty():
        return exposed_us or None
    start = work["start_ns"].to_numpy()
    saved_us = context.device_gain_us(
        work, total_within(time, start, start + work["dur_ns"].to_numpy())
    )
    if saved_us is None:
        return None
    # A first step that waits for the queue to fill is longer than any that follows.
    usual_ns = float(np.median(context.windows.end_ns - context.windows.start_ns))
    spare_ns = usual_ns - context.in_steps_ns(_host_needs(context.trace))
    return max(min(saved_us, exposed_us, spare_ns / NS_PER_US), 0.0) or None


@per_trace
def _host_needs(trace: Trace) -> Intervals:
    """When a launching thread did something but wait; calls that copy from pageable memory do, they
    stage the copy."""
    uploads = waits(trace).filter(pl.col("wait") == Wait.UPLOAD)
    staging = union(uploads["start_ns"].to_numpy(), uploads["end_ns"].to_numpy())
    return union_all(host_activity(trace), staging)


def worst_stretch(context: Context, time: Intervals) -> Spot | None:
    """The longest of some stretches, with the collective that runs there; None without any."""
    if not len(time.start_ns):
        return None
    row = int((time.end_ns - time.start_ns).argmax())
    start_ns, end_ns = int(time.start_ns[row]), int(time.end_ns[row])
    return context.spot(start_ns, end_ns, _running(context.trace, start_ns, end_ns))


def _running(trace: Trace, start_ns: int, end_ns: int) -> int | None:
    """The communicating slice that runs longest within a stretch."""
    slices = communicating_slices(trace)
    start = trace.slices["start_ns"].to_numpy()[slices]
    end = start + trace.slices["dur_ns"].to_numpy()[slices]
    within = np.minimum(end, end_ns) - np.maximum(start, start_ns)
    return int(slices[within.argmax()]) if len(slices) and within.max() > 0 else None


@per_trace
def communicating_slices(trace: Trace) -> Int64:
    """Ids of the slices that are communication as it ran, on devices and on the host."""
    kernels = trace.device_work["slice"].to_numpy()[kernel_kinds(trace).is_communication]
    slices: Int64 = np.concatenate((kernels, timed_on_host(trace))).astype(np.int64)
    return slices
