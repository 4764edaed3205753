"""What a range of time holds: time by category and name, GPUs, and where they had nothing to do.

Of chosen lanes the sums are those of all of them, as in the whole (:mod:`.range_parts`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.intervals import clip, subtract, total, union_all
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.units import exact_microseconds
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.timeline.categories import COMMUNICATION
from torch_tb_profiler.views.timeline.choice import Choice
from torch_tb_profiler.views.timeline.idle_gaps import Gap, described, longest_gaps
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.lane_sums import NameTime
from torch_tb_profiler.views.timeline.merged import device_activity
from torch_tb_profiler.views.timeline.range_counters import range_counters
from torch_tb_profiler.views.timeline.range_names import CategoryTime, range_names

TOP = 10
"""Names listed of each kind beside the table of all."""

MAX_GAPS = 10

_OPERATORS = (Category.OPERATOR, Category.PYTHON_OPERATOR)
_WORK = (Category.KERNEL, Category.MEMCPY, Category.MEMSET, COMMUNICATION)


class GpuTime(Struct, frozen=True):
    """What one GPU did in a range.

    Computation alone, communication alone, both together and copies or sets without any kernel add
    up to the busy time, and with the idle time to the range.
    """

    device: int
    busy_us: float
    computation_us: float
    communication_us: float
    overlap_us: float
    idle_us: float
    copies_us: float


class RangeSummary(Struct, frozen=True):
    """See the module docstring; gaps are ordered by length. ``names_left_out`` counts the names
    with least self time that are not in the table ``slices``."""

    categories: list[CategoryTime]
    operators: list[NameTime]
    python: list[NameTime]
    kernels: list[NameTime]
    slices: Table
    names_left_out: int
    counters: Table
    gpus: list[GpuTime]
    gaps: list[Gap]
    gap_count: int


def range_summary(
    timeline: Timeline, start_ns: int, end_ns: int, choice: Choice | None = None
) -> RangeSummary:
    """Summary of ``[start_ns, end_ns)``, from the origin.

    Args:
        timeline: What is summed up.
        start_ns: Start of the range.
        end_ns: End of the range, not included.
        choice: The lanes and counters that are summed up, None for all; GPUs are those that any of
            them belongs to, each as a whole.
    """
    lanes = timeline.lanes
    drawn = [number for number, track in enumerate(timeline.tracks) if track.key in timeline.rows]
    chosen = np.isin(lanes.track, drawn)
    devices = set(device_activity(timeline.trace))
    listed = list(timeline.counters) if choice is None else choice.counters
    if choice is not None:
        is_chosen = np.zeros(len(chosen), np.bool_)
        is_chosen[choice.lanes] = True
        chosen &= is_chosen
        numbers = {*distinct_values(lanes.track[choice.lanes]).tolist(), *choice.counters}
        devices &= {timeline.tracks[number].device for number in numbers}
    names = range_names(timeline, np.flatnonzero(chosen), start_ns, end_ns)
    slices, left_out = names.table()
    spans = longest_gaps(timeline, start_ns, end_ns, MAX_GAPS, devices)
    return RangeSummary(
        categories=names.by_category(),
        operators=names.top(_OPERATORS, TOP),
        python=names.top(PYTHON_CATEGORIES, TOP),
        kernels=names.top(_WORK, TOP),
        slices=slices,
        names_left_out=left_out,
        counters=range_counters(timeline, start_ns, end_ns, listed),
        gpus=_gpus(timeline, start_ns, end_ns, devices),
        gaps=described(timeline, spans.longest),
        gap_count=spans.all_count,
    )


def _gpus(
    timeline: Timeline, start_ns: int, end_ns: int, devices: Collection[int]
) -> list[GpuTime]:
    low, high = start_ns + timeline.origin_ns, end_ns + timeline.origin_ns
    gpus = []
    for device, times in device_activity(timeline.trace).items():
        if device not in devices:
            continue
        kernels = union_all(times.computation, times.communication)
        parts = (
            subtract(times.computation, times.communication),
            subtract(times.communication, times.computation),
            times.overlap,
            subtract(times.copies, kernels),
        )
        *alone, both, copies = (total(clip(part, low, high)) for part in parts)
        busy = sum(alone) + both + copies
        of_device = (busy, *alone, both, end_ns - start_ns - busy, copies)
        gpus.append(GpuTime(device, *map(exact_microseconds, of_device)))
    return gpus
