"""The input of a detector: one trace, the steps of a selection, and measures of both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, total_within, union
from torch_tb_profiler.analysis.communication.certainty import may_communicate
from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.idle.host_threads import host_activity
from torch_tb_profiler.analysis.idle.step_savings import estimate_saved_ns
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.analysis.recording.launch_measures import launch_measures
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import role_costs
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.evidence.finding import Spot
from torch_tb_profiler.knowledge import gpus
from torch_tb_profiler.knowledge.device_terms import DeviceTerms
from torch_tb_profiler.knowledge.kernels import KernelKind
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

WORK_COLUMNS = (
    "slice",
    "category",
    "name_code",
    "start_ns",
    "dur_ns",
    "device",
    "launch",
    "owner",
    "block_code",
    "registers_per_thread",
    "shared_memory_bytes",
    "bytes",
    "occupancy_limit_code",
)
"""The columns of ``device_work`` that detectors use; it may have millions of rows."""


RANGE_CATEGORIES = (Category.DATALOADER, Category.OPTIMIZER)
"""Categories of the ranges that the profiler itself records: few among many slices."""


@per_split
def _profiler_ranges(trace: Trace) -> dict[Category, pl.DataFrame]:
    """The slices of each of :data:`RANGE_CATEGORIES`."""
    return {
        category: trace.slices.filter(pl.col("category") == category)
        for category in RANGE_CATEGORIES
    }


@per_trace
def _described_work(trace: Trace) -> pl.DataFrame:
    """The rows of ``device_work`` with their number (``row``), the two columns of
    ``launch_measures``, ``is_kernel``,
    ``is_communication``, ``may_communicate`` (it is unknown), ``computes`` (a kernel that surely
    does not), ``is_of_operator`` (a kernel that an operator launched directly) and ``tensor_core``
    (a verdict of ``analysis.algebra.codes``)."""
    kinds, category = kernel_kinds(trace), trace.slices["category"].to_numpy()
    owner = indices(trace.device_work["owner"])
    by_operator = gather(category, owner) == Category.OPERATOR
    computes = kinds.is_kernel & ~kinds.is_communication & ~may_communicate(trace)
    return trace.device_work.select(
        *WORK_COLUMNS,
        *launch_measures(trace),
        row=pl.int_range(pl.len()),
        is_kernel=pl.Series(kinds.is_kernel),
        is_communication=pl.Series(kinds.is_communication),
        may_communicate=pl.Series(may_communicate(trace)),
        computes=pl.Series(computes),
        is_of_operator=pl.Series(kinds.is_kernel & by_operator),
        tensor_core=pl.Series(kinds.tensor_core),
    )


class Context(Struct, frozen=True, eq=False, dict=True):
    """One trace and selection.

    Raises:
        SelectionError: on first use, when the selection makes no sense for the trace.
    """

    trace: Trace
    selection: Selection

    @cached_property
    def windows(self) -> StepWindows:
        """The selected steps that averages are over."""
        return step_windows(self.trace, self.selection).of_averages

    @property
    def step_count(self) -> int:
        """Number of these steps."""
        return len(self.windows.names)

    @cached_property
    def step_ns(self) -> float:
        """Mean length of a step; 0 without steps."""
        lengths = self.windows.end_ns - self.windows.start_ns
        return float(lengths.mean()) if len(lengths) else 0.0

    @cached_property
    def costs(self) -> Int64:
        """Time in ns, shape ``(steps, roles)``; every moment counts for one role, the strongest."""
        return role_costs(self.trace, self.windows)

    def role_ns(self, role: Role) -> float:
        """Mean time per step spent on a role; every moment counts for one role, the strongest."""
        return float(self.costs[:, role].mean()) if self.step_count else 0.0

    def per_step(self, total_ns: float) -> float:
        """A sum over all steps as the mean per step."""
        return total_ns / self.step_count if self.step_count else 0.0

    def share_pct(self, per_step_ns: float) -> float:
        """A time per step as share of the mean step, in percent; 0 when steps last 0."""
        return per_step_ns / self.step_ns * 100 if self.step_ns > 0 else 0.0

    def inside(self, time_ns: Int64) -> Bools:
        """Mask of the moments that lie in the steps."""
        row = np.searchsorted(self.windows.start_ns, time_ns, "right") - 1
        if not self.step_count:
            return np.zeros(len(time_ns), np.bool_)
        inside: Bools = (row >= 0) & (time_ns < self.windows.end_ns[row])
        return inside

    def ranges_of(self, category: Category) -> pl.DataFrame:
        """The ranges of a category of :data:`RANGE_CATEGORIES` that start in the steps, or reach
        into one."""
        return self._ranges[category]

    @cached_property
    def _ranges(self) -> dict[Category, pl.DataFrame]:
        ranges = _profiler_ranges(self.trace)
        return {category: self._reaching(slices) for category, slices in ranges.items()}

    def _reaching(self, slices: pl.DataFrame) -> pl.DataFrame:
        """The slices that start in the steps, or reach into one."""
        start = slices["start_ns"].to_numpy()
        row = np.searchsorted(self.windows.end_ns, start, "right")
        begin = np.append(self.windows.start_ns, np.iinfo(np.int64).max)[row]
        reaches = start + slices["dur_ns"].to_numpy() > begin
        return slices.filter(pl.Series(self.inside(start) | reaches))

    @cached_property
    def work(self) -> pl.DataFrame:
        """The rows of :func:`_described_work` that start in the steps."""
        work = _described_work(self.trace)
        return work.filter(pl.Series(self.inside(work["start_ns"].to_numpy())))

    @cached_property
    def kernels(self) -> pl.DataFrame:
        """The kernels of :attr:`work` that surely do not communicate."""
        return self.work.filter("computes")

    @cached_property
    def compute_intervals(self) -> dict[int, Intervals]:
        """Per GPU the time in the steps in which kernels other than communication ran that started
        in the steps."""
        work, kinds = self.trace.device_work, kernel_kinds(self.trace)
        device, start = indices(work["device"]), work["start_ns"].to_numpy()
        chosen = kinds.is_kernel & ~kinds.is_communication & (device >= 0) & self.inside(start)
        device, start, dur = device[chosen], start[chosen], work["dur_ns"].to_numpy()[chosen]
        times = {}
        for gpu in distinct_values(device).tolist():
            rows = device == gpu
            times[gpu] = self.within_steps(union(start[rows], start[rows] + dur[rows]))
        return times

    @cached_property
    def operator_kernels(self) -> pl.DataFrame:
        """The kernels of :attr:`work` that operators launched directly."""
        return self.work.filter("is_of_operator")

    @property
    def has_launches(self) -> bool:
        """Whether the launch of any device work in the steps is recorded."""
        return self.work["launch"].null_count() < self.work.height

    @cached_property
    def used_devices(self) -> pl.DataFrame:
        """The devices that ran work, as ``trace.devices``."""
        return self.trace.devices.filter("used")

    @cached_property
    def architecture(self) -> gpus.Architecture | None:
        """The architecture of the devices in use; None if it is unknown or they differ."""
        # AMD devices have other numbers as compute capability, and some have no name.
        is_hip = self.trace.meta.info.hip_runtime_version is not None
        generations = {
            gpus.architecture(
                row["name"],
                None if is_hip else row["compute_major"],
                None if is_hip else row["compute_minor"],
            )
            for row in self.used_devices.iter_rows(named=True)
        }
        return generations.pop() if len(generations) == 1 else None

    @property
    def terms(self) -> DeviceTerms | None:
        """The terms of the devices; None for NVIDIA's, unknown and different ones."""
        return device_terms(self.trace)

    @property
    def architecture_name(self) -> str | None:
        """Name of :attr:`architecture`."""
        return self.architecture.name if self.architecture else None

    def present_names(self, names: set[str]) -> set[str]:
        """The names among ``names`` that any slice of the whole trace has."""
        wanted = [code for code, text in enumerate(self.trace.strings) if text in names]
        present = self.trace.slices["name_code"].is_in(wanted)
        return {
            self.trace.text(code) or ""
            for code in self.trace.slices["name_code"].filter(present).unique()
        }

    def spot(
        self, start_ns: int, end_ns: int, slice_id: int | None = None, worker: str | None = None
    ) -> Spot:
        """An interval of trace time, for the timeline."""
        first_ns = self.trace.meta.start_ns
        return Spot(int(start_ns) - first_ns, int(end_ns) - first_ns, slice_id, worker)

    def within_steps(self, intervals: Intervals) -> Intervals:
        """The part of some intervals that lies in the steps."""
        return intersect(intervals, Intervals(self.windows.start_ns, self.windows.end_ns))

    def per_step_ns(self, intervals: Intervals) -> float:
        """Length of some intervals in the steps, as the mean per step."""
        lengths = total_within(intervals, self.windows.start_ns, self.windows.end_ns)
        return self.per_step(float(lengths.sum()))

    def device_gain_us(self, work: pl.DataFrame, saved_ns: Int64) -> float | None:
        """The time that shorter device work could save per step, at most, in µs.

        Only work that something waits for counts, each moment once, and a step cannot become
        shorter than its host needs (``docs/advice.md#what-can-be-gained``).

        Args:
            work: Rows of :attr:`work`.
            saved_ns: The time by which each could be shorter.

        Returns:
            0 if nothing waits for that work; None if no launch is recorded, so that it is unknown
            what waits for what.
        """
        saved = estimate_saved_ns(self.trace, work["slice"].to_numpy(), saved_ns)
        if saved is None:
            return None
        slack_ns = self.step_ns - self.per_step_ns(host_activity(self.trace))
        return max(min(self.per_step(saved), slack_ns), 0.0) / NS_PER_US

    def caller_codes(self, calls: pl.DataFrame) -> Int64:
        """Name codes of the parents of calls (rows of ``trace.slices``); -1 for none, and for a
        step, whose name changes with each."""
        slices = self.trace.slices
        parent = indices(calls["parent"])
        is_step = gather(indices(slices["category"]), parent) == Category.STEP
        return gather(indices(slices["name_code"]), np.where(is_step, -1, parent))

    def match_names(self, column: pl.Series, rule: Callable[[str], bool]) -> pl.Series:
        """Mask of the name codes whose text fulfils ``rule``; each name is tested once."""
        return pl.Series(codes.map_names(self.trace, column.to_numpy(), rule, np.bool_))

    def match_kernel_kinds(
        self, column: pl.Series, rule: Callable[[KernelKind], bool]
    ) -> pl.Series:
        """Mask of the name codes of kernels whose kind fulfils ``rule``."""
        kinds = kernel_name_kinds(self.trace)
        return pl.Series(kinds.verdicts(column.to_numpy(), rule) == codes.YES, dtype=pl.Boolean)

    def texts(self, column: pl.Series) -> pl.Series:
        """Dictionary codes as texts; null for null and for -1."""
        return codes.texts(self.trace, column)


def gpu_list(numbers: list[int]) -> str:
    """``"GPU 0"``, ``"GPU 0 and 1"``, ``"GPU 0, 1 and 12"``."""
    texts = [str(number) for number in numbers]
    if len(texts) < 2:
        return f"GPU {''.join(texts)}"
    return f"GPU {', '.join(texts[:-1])} and {texts[-1]}"
