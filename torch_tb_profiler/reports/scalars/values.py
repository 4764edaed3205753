"""What each step of a trace is told as.

The step is the program's own number, the time when the step ended. What a recording does not tell
is left out, with the reason. Definitions: ``docs/scalars.md``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.analysis.algebra.intervals import subtract, total_within
from torch_tb_profiler.analysis.communication.certainty import communication_certainty
from torch_tb_profiler.analysis.communication.roles import (
    Role,
    computation,
    exclusive_intervals,
    role_intervals,
)
from torch_tb_profiler.analysis.idle.resources import (
    Resource,
    gpus_used,
    resource_times,
    unknown_resources,
)
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.model import Trace

NS_PER_MS, NS_PER_S, US_PER_MS, US_PER_S = 1e6, 1e9, 1e3, 1e6

STEP_TIME = "step_time_ms"
EVALUATION_TIME = "evaluation_step_time_ms"
READER_RATIO = "reader_ratio_pct"
THROUGHPUT = "throughput_samples_per_s"
GPU = "gpu_utilization_pct"
TENSOR_CORE = "tensor_core_share_pct"
EXPOSED = "exposed_communication_pct"

MAX_DIGITS = 19
"""Numbers of steps are int64."""

NO_GPU_WORK = "no device work is recorded"
NO_COMMUNICATION = "no communication is recorded"
NO_SAMPLES = "nothing tells of how many samples the steps were"
NO_READER = "nothing tells how long the steps waited for data"
NO_STEPS = "no step of the program is recorded whole"


class Scalar(Struct, frozen=True, order=True):
    """One point of a curve.

    Attributes:
        tag: Its curve.
        step: Number of the step in the program; of a trace without steps, of the trace.
        wall_time_s: When it was recorded, in seconds since 1970.
        value: In the unit that the tag ends in.
    """

    tag: str
    step: int
    wall_time_s: float
    value: float


class ScalarSeries(Struct):
    """The points of one worker, and why curves are missing.

    Attributes:
        points: Tag and step → the point; the first that is told stays.
        missing: Tag → why a trace has no such value.
    """

    points: dict[tuple[str, int], Scalar] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, trace: Trace, number: int, recorded_s: float) -> None:
        """Add what a trace tells.

        Args:
            trace: One recording of the worker.
            number: Of the recording among those of the worker, from 0.
            recorded_s: When it was written, where it does not tell its own time.
        """
        for scalar in (*_timed(trace, recorded_s), *self._traced(trace, number, recorded_s)):
            if np.isfinite(scalar.value):
                self.points.setdefault((scalar.tag, scalar.step), scalar)

    def scalars(self) -> list[Scalar]:
        """All points, those of a curve by step."""
        return sorted(self.points.values())

    def reasons(self) -> dict[str, str]:
        """Tag → why it has no point at all."""
        present = {tag.rpartition("/")[2] for tag, _ in self.points}
        return {tag: text for tag, text in sorted(self.missing.items()) if tag not in present}

    def _traced(self, trace: Trace, number: int, recorded_s: float) -> Iterator[Scalar]:
        """Points of the steps in a recording; of one without numbers a single one."""
        windows = step_windows(trace, Selection()).of_averages
        if not len(windows.names) or not (windows.end_ns > windows.start_ns).all():
            self.missing.setdefault(STEP_TIME, NO_STEPS)
            return
        has_numbers = not trace.quality.counts.get("no_steps") and all(
            name.isdecimal() and len(name) < MAX_DIGITS for name in windows.names
        )
        if has_numbers:
            steps = [int(name) for name in windows.names]
            self.missing.setdefault(THROUGHPUT, NO_SAMPLES)
        base_s = trace.meta.base_ns / NS_PER_S
        times_s = (base_s + windows.end_ns / NS_PER_S).tolist() if base_s else None
        for name, values in self._measures(trace, windows):
            if has_numbers:
                at_s = times_s or [recorded_s] * len(steps)
                yield from map(Scalar, [_tag(name)] * len(steps), steps, at_s, values.tolist())
            elif name != STEP_TIME:  # the whole recording is no step
                weights = windows.end_ns - windows.start_ns
                at_s = times_s or [recorded_s]
                mean = float(np.average(values, weights=weights))
                yield Scalar(_tag(f"whole_trace/{name}"), number, at_s[-1], mean)

    def _measures(self, trace: Trace, windows: StepWindows) -> Iterator[tuple[str, Float64]]:
        """Measures by name, a value per step."""
        start, end = windows.start_ns, windows.end_ns
        length = (end - start).astype(np.float64)
        yield STEP_TIME, length / NS_PER_MS
        gpus = gpu_profiles(trace)
        if gpus:
            busy = [total_within(gpu.busy, start, end) for gpu in gpus.values()]
            yield GPU, np.mean(busy, axis=0) / length * 100
        else:
            self.missing.setdefault(GPU, NO_GPU_WORK)
        yield from self._tensor_core(trace, windows)
        unknown = unknown_roles(trace)
        communication = role_intervals(trace)[Role.COMMUNICATION]
        if Role.COMMUNICATION in unknown or not len(communication.start_ns):
            is_expected = communication_certainty(trace).is_distributed
            reason = unknown.get(Role.COMMUNICATION) if is_expected else None
            self.missing.setdefault(EXPOSED, reason or NO_COMMUNICATION)
        else:
            exposed = subtract(communication, computation(trace))
            yield EXPOSED, total_within(exposed, start, end) / length * 100
        loading = exclusive_intervals(trace)[Role.DATALOADER]
        if len(loading.start_ns):
            yield READER_RATIO, total_within(loading, start, end) / length * 100
        else:
            self.missing.setdefault(READER_RATIO, NO_READER)

    def _tensor_core(self, trace: Trace, windows: StepWindows) -> Iterator[tuple[str, Float64]]:
        unknown = unknown_resources(trace)
        gpus = gpus_used(trace)
        if Resource.TENSOR_CORE in unknown or not gpus:
            self.missing.setdefault(TENSOR_CORE, unknown.get(Resource.TENSOR_CORE, NO_GPU_WORK))
            return
        times = np.sum(
            [resource_times(trace, gpu, windows.start_ns, windows.end_ns) for gpu in gpus], axis=0
        )
        used = times[:, Resource.TENSOR_CORE]
        kernels = used + times[:, Resource.OTHER_KERNELS]
        share = np.full(len(used), np.nan)
        np.divide(used * 100, kernels, out=share, where=kernels > 0)
        yield TENSOR_CORE, share


def _timed(trace: Trace, recorded_s: float) -> Iterator[Scalar]:
    """Points of the steps that a timer took, of the whole run."""
    side = trace.side.get("timed_steps")
    if side is None:
        return
    base_s = trace.meta.base_ns / NS_PER_S or None
    rows = side.frame.filter(pl.col("duration_us") > 0, pl.col("step").is_not_null()).select(
        "phase",
        "step",
        ended_s=(pl.col("start_us") + pl.col("duration_us")) / US_PER_S,
        time_ms=pl.col("duration_us") / US_PER_MS,
        reader=pl.col("reader_us") / pl.col("duration_us") * 100,
        rate=pl.col("samples") / (pl.col("duration_us") / US_PER_S),
    )
    for phase, step, ended_s, time_ms, reader, rate in rows.iter_rows():
        at_s = recorded_s if base_s is None or ended_s is None else base_s + ended_s
        if phase == "evaluation":
            yield Scalar(_tag(EVALUATION_TIME), step, at_s, time_ms)
            continue
        yield Scalar(_tag(STEP_TIME), step, at_s, time_ms)
        if reader is not None:
            yield Scalar(_tag(READER_RATIO), step, at_s, reader)
        if rate is not None:
            yield Scalar(_tag(THROUGHPUT), step, at_s, rate)


def _tag(name: str) -> str:
    return f"profiler/{name}"
