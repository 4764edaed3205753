"""Where somebody says that the forward pass begins and the backward pass ends: operators by name.

Definitions: ``docs/views-phases.md#borders``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    subtract,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.recording.operator_paths import codes_by_path
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import phases_of, slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.segments import (
    Stretches,
    in_time_order,
    intervals_of,
    phase_at,
    process_stretches,
)
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, DEVICE_WORK_CATEGORIES
from torch_tb_profiler.trace.columns import Int8, Int64
from torch_tb_profiler.trace.model import Trace

_SHOWN = 80
"""How much of a name an error repeats."""


class UnknownBoundaryError(LookupError):
    """A border that names nothing of the recording; the message is for people."""


class Boundaries(Struct, frozen=True):
    """Names of host slices (operators, ranges), or else of device work, with which passes begin and
    end; None: as detected.

    Attributes:
        forward_start: The forward pass of a step begins where its first such call does.
        backward_end: The backward pass of a step ends where its last such call does.
    """

    forward_start: str | None = None
    backward_end: str | None = None

    @property
    def given(self) -> bool:
        """Whether any is named."""
        return self.forward_start is not None or self.backward_end is not None


def bounded_stretches(trace: Trace, boundaries: Boundaries) -> dict[int, Stretches]:
    """Per process (-1: all together) the phase of its moments, within ``borders``.

    Raises:
        UnknownBoundaryError: nothing has the name.
    """
    by_process = process_stretches(trace)
    if not boundaries.given:
        return by_process
    nothing = Stretches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8))
    processes = distinct_values(indices(trace.tracks["process"])).tolist()
    by_process = {process: by_process.get(process, nothing) for process in [-1, *processes]}
    first = _edges(trace, "forward_start", boundaries.forward_start)
    last = _edges(trace, "backward_end", boundaries.backward_end)
    steps = trace.steps
    of_step = indices(steps["process"])
    start, end = (steps[key].to_numpy() for key in ("host_start_ns", "host_end_ns"))
    result = {}
    for process, stretches in by_process.items():
        rows = np.flatnonzero((of_step == process) | (of_step < 0) | (process < 0))
        result[process] = _within(stretches, start[rows], end[rows], first[rows], last[rows])
    return result


def bounded_phases(trace: Trace, boundaries: Boundaries) -> Int8:
    """Per slice its phase, within ``boundaries``. Where these are on the device, work whose launch
    is not recorded has the phase in which it begins.

    Raises:
        UnknownBoundaryError: nothing has the name.
    """
    if not boundaries.given:
        return slice_phases(trace)
    of_process = bounded_stretches(trace, boundaries)
    phases = phases_of(trace, of_process, of_threads=False)
    if are_on_device(trace, boundaries):
        work = trace.device_work.filter(pl.col("launch").is_null())["slice"].to_numpy()
        phases[work] = phase_at(
            of_process[-1], trace.slices["start_ns"].to_numpy()[work], Phase.OTHER
        )
    return phases


def are_on_device(trace: Trace, boundaries: Boundaries) -> bool:
    """Whether a boundary is where device work begins or ends, as in recordings without a host.

    Raises:
        UnknownBoundaryError: nothing has the name.
    """
    category = trace.slices["category"].to_numpy()
    rows = [
        _named(trace, key, name)
        for key, name in (
            ("forward_start", boundaries.forward_start),
            ("backward_end", boundaries.backward_end),
        )
        if name is not None
    ]
    return any(bool(np.isin(category[each], DEVICE_CATEGORIES).all()) for each in rows)


def _named(trace: Trace, key: str, name: str) -> Int64:
    """The slices of the host with that name; where it has none, the device work of that name, or of
    the operator with that full name.

    Raises:
        UnknownBoundaryError: nothing has the name.
    """
    slices = trace.slices
    used = np.bincount(slices["name_code"].to_numpy(), minlength=len(trace.strings)) > 0
    code = next((c for c in np.flatnonzero(used).tolist() if trace.strings[c] == name), None)
    if code is None:
        code = codes_by_path(trace).get(name)
    rows = np.flatnonzero(slices["name_code"].to_numpy() == (-1 if code is None else code))
    category = slices["category"].to_numpy()[rows]
    is_on_device = np.isin(category, DEVICE_CATEGORIES)
    chosen = ~is_on_device if not is_on_device.all() else np.isin(category, _DEVICE_WORK)
    if not chosen.any():
        raise UnknownBoundaryError(
            f"{key}: nothing is called {name[:_SHOWN]!r}; name an operator or a range as the table "
            "of operators does, or a kernel where nothing of the host is recorded"
        )
    named: Int64 = rows[chosen]
    return named


_DEVICE_WORK = [int(category) for category in DEVICE_WORK_CATEGORIES]


def _edges(trace: Trace, key: str, name: str | None) -> Int64:
    """Per step the start of the first call of that name, or (``backward_end``) the end of the
    last; -1 where the step has none."""
    edges = np.full(trace.steps.height, -1, np.int64)
    if name is None:
        return edges
    slices, rows = trace.slices, _named(trace, key, name)
    step = indices(slices["step"].gather(rows))
    rows, step = rows[step >= 0], step[step >= 0]
    start = slices["start_ns"].to_numpy()[rows]
    if key == "forward_start":
        order = np.argsort(-start, kind="stable")
        edges[step[order]] = start[order]
    else:
        end = start + slices["dur_ns"].to_numpy()[rows]
        order = np.argsort(end, kind="stable")
        edges[step[order]] = end[order]
    return edges


def _within(
    stretches: Stretches, start_ns: Int64, end_ns: Int64, first_ns: Int64, last_ns: Int64
) -> Stretches:
    """Stretches of a process, with the borders of its steps."""
    by_phase = {phase: intervals_of(stretches, phase) for phase in Phase}
    forward, backward = by_phase[Phase.FORWARD], by_phase[Phase.BACKWARD]
    fixed = union_all(by_phase[Phase.DATALOADER], by_phase[Phase.OPTIMIZER])
    begins, ends = first_ns >= 0, last_ns >= 0
    # Without the end that is named elsewhere, a step of which nothing else is known has no passes:
    # often the recording of its device work ended in it.
    known = total_within(union_all(forward, backward), start_ns, end_ns) > 0
    begins &= ends | known | ~ends.any()
    forward = _from(forward, backward, start_ns[begins], end_ns[begins], first_ns[begins])
    # Where nothing shows a backward pass, forward lasts until the end that is named.
    bare = ends & (total_within(backward, start_ns, end_ns) == 0)
    forward = subtract(forward, union(last_ns[bare], end_ns[bare]))
    backward = _until(backward, start_ns[ends], end_ns[ends], last_ns[ends])
    backward = subtract(backward, fixed)
    forward = subtract(subtract(forward, fixed), backward)
    by_phase[Phase.FORWARD], by_phase[Phase.BACKWARD] = forward, backward
    return in_time_order([(phase, by_phase[phase]) for phase in Phase])


def _from(
    forward: Intervals, backward: Intervals, start_ns: Int64, end_ns: Int64, first_ns: Int64
) -> Intervals:
    """``forward`` that begins at ``first_ns`` in each step ``[start_ns, end_ns)``: what lies before
    is none, and what lies between it and the next pass of the step is."""
    outside = subtract(forward, union(start_ns, first_ns))
    begins = np.sort(np.concatenate((outside.start_ns, backward.start_ns)))
    following = np.append(begins, np.iinfo(np.int64).max)[np.searchsorted(begins, first_ns)]
    around = np.searchsorted(backward.end_ns, first_ns, "right")
    inside = np.append(backward.start_ns, np.iinfo(np.int64).max)[around] <= first_ns
    until = np.where(inside, first_ns, np.minimum(following, end_ns))
    return union_all(outside, union(first_ns, until))


def _until(backward: Intervals, start_ns: Int64, end_ns: Int64, last_ns: Int64) -> Intervals:
    """``backward`` that ends at ``last_ns`` in each step ``[start_ns, end_ns)``: what lies behind
    is none, and what lies between it and the pass before in the step is."""
    within = subtract(backward, union(last_ns, end_ns))
    ends = np.append(np.iinfo(np.int64).min, within.end_ns)
    before = ends[np.searchsorted(within.end_ns, last_ns, "right")]
    since = np.where(before > start_ns, before, last_ns)
    return union_all(within, union(since, last_ns))
