"""Columns of what hardware counters measured, of rows that are groups of device work.

Definitions: ``docs/metrics.md#measured-counters``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.measured.windows import mean_together, window_means
from torch_tb_profiler.analysis.measured.work import GroupMeans, has_measured_work, table_means
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.schema import Column

NO_COUNTERS = "The recording has no hardware counters of this kind."
NOT_SAMPLED = (
    "This counter was not sampled, or no sample describes the time of this row's device work."
)

SM_ACTIVE = Column(
    "sm_active_pct",
    "SM Active",
    "number",
    "pct",
    "Measured: mean share of the multiprocessors that had work, weighted by time. Compare Own "
    "Samples: samples that are long compared with the kernels also describe others.",
)
DRAM_BANDWIDTH = Column(
    "dram_bandwidth_pct",
    "DRAM Bandwidth",
    "number",
    "pct",
    "Measured: bandwidth of the device's memory in use, reads and writes, as share of its peak; "
    "weighted by time.",
)
TENSOR_ACTIVE = Column(
    "tensor_active_pct",
    "Tensor Cores Active",
    "number",
    "pct",
    "Measured: share of the time in which the Tensor Cores (matrix units) worked, weighted by "
    "time.",
    hidden=True,
)
OCCUPANCY = Column(
    "measured_occupancy_pct",
    "Measured Occupancy",
    "number",
    "pct",
    "Measured: warps (waves) in flight as share of the most that fit, weighted by time.",
    hidden=True,
)
OWN_SAMPLES = Column(
    "own_samples_pct",
    "Own Samples",
    "number",
    "pct",
    "Share of the measured time in samples that this row's work fills at least half, or in values "
    "counted of its own kernels. Where it is low, the measured values also describe other work.",
)
COUNTER_SAMPLES = Column(
    "counter_samples",
    "Counter Samples",
    "integer",
    "count",
    "Samples of the counters that reach into this row's device work; 0 where none does.",
    hidden=True,
)
COVERAGE = Column(
    "counter_coverage_pct",
    "Counter Coverage",
    "number",
    "pct",
    "Share of the time of this row's device work that samples of the counters describe.",
    hidden=True,
)
_MEANS = {
    "sm_active": SM_ACTIVE,
    "dram_bandwidth": DRAM_BANDWIDTH,
    "tensor_active": TENSOR_ACTIVE,
    "occupancy": OCCUPANCY,
}
"""Role → the column of its mean."""

OF_STEP_ROLES = ("sm_active", "dram_bandwidth")

OF_STEP = (
    replace(
        SM_ACTIVE,
        help="Measured: mean share of the multiprocessors that had work, idle time included, "
        "weighted by time; mean of the GPUs.",
    ),
    replace(
        DRAM_BANDWIDTH,
        help="Measured: bandwidth of the device's memory in use, reads and writes, as share of its "
        "peak, idle time included; mean of the GPUs.",
    ),
    replace(
        COUNTER_SAMPLES,
        help="Samples of SM activity, else of bandwidth, that reach into this time; 0 where none "
        "does.",
    ),
    replace(COVERAGE, help="Share of this time that these samples describe."),
)
"""The columns of a window of time."""

MEASURED_COLUMNS = (*_MEANS.values(), OWN_SAMPLES, COUNTER_SAMPLES, COVERAGE)
"""At the end of tables whose rows are groups of device work."""


def columns_of_windows(
    trace: Trace, start_ns: Int64, end_ns: Int64, devices: Iterable[int]
) -> pl.DataFrame:
    """The values of :data:`OF_STEP`, one row per window ``[start_ns[i], end_ns[i])``.

    Args:
        trace: The trace.
        start_ns: Starts of the windows.
        end_ns: Their ends.
        devices: The devices that count.
    """
    wanted, count = set(devices), len(start_ns)
    means = {role: window_means(trace, role, start_ns, end_ns, wanted) for role in OF_STEP_ROLES}
    known = {role: each for role, each in means.items() if each is not None}
    values = {
        _MEANS[role].key: pl.Series(each.mean, nan_to_null=True) for role, each in known.items()
    }
    if known:
        first = next(iter(known.values()))
        values[COUNTER_SAMPLES.key] = pl.Series(first.samples)
        values[COVERAGE.key] = pl.Series(first.covered_pct, nan_to_null=True)
    nothing = pl.Series([None] * count, dtype=pl.Float64)
    frame = pl.DataFrame([values.get(column.key, nothing).alias(column.key) for column in OF_STEP])
    return frame.cast({COUNTER_SAMPLES.key: pl.Int64})


def means_of_windows(
    trace: Trace, start_ns: Int64, end_ns: Int64, device: int
) -> dict[str, float | int | None]:
    """The values of :data:`OF_STEP` of one device, over disjoint windows in order of time
    together."""
    values: dict[str, float | int | None] = dict.fromkeys(column.key for column in OF_STEP)
    whole_ns = int((end_ns - start_ns).sum())
    for role in reversed(OF_STEP_ROLES):  # what is said of the samples is of the first role
        mean = mean_together(trace, role, start_ns, end_ns, device)
        if mean is not None:
            values[_MEANS[role].key] = mean.mean if mean.covered_ns else None
            values[COUNTER_SAMPLES.key] = mean.samples
            values[COVERAGE.key] = 100 * mean.covered_ns / whole_ns if whole_ns else None
    return values


def measured_columns(trace: Trace, rows: Int64, group: Int64, count: int) -> pl.DataFrame:
    """The values of :data:`MEASURED_COLUMNS`, one row per group.

    Args:
        trace: The trace.
        rows: Rows of ``trace.device_work``; one may be of several groups.
        group: The group of each, below ``count``.
        count: Number of groups.
    """
    return frame_of_means(table_means(trace, rows, group, count), count)


def measured_columns_of_lists(trace: Trace, work: pl.Series) -> pl.DataFrame:
    """The same of rows that each have the list of its rows of ``trace.device_work``."""
    sizes = work.list.len().fill_null(0)
    group = pl.int_range(len(work), eager=True).repeat_by(sizes).explode(empty_as_null=False)
    rows = work.explode(empty_as_null=False)
    return measured_columns(trace, rows.to_numpy(), group.to_numpy(), len(work))


def frame_of_means(means: Mapping[str, GroupMeans], count: int) -> pl.DataFrame:
    """The values of :data:`MEASURED_COLUMNS` from the means of roles; what is said of the samples
    is said of the first of these."""
    values = {
        column.key: pl.Series(means[role].mean, nan_to_null=True)
        for role, column in _MEANS.items()
        if role in means
    }
    if means:
        first = next(iter(means.values()))
        values |= {
            OWN_SAMPLES.key: pl.Series(first.own_pct, nan_to_null=True),
            COUNTER_SAMPLES.key: pl.Series(first.samples),
            COVERAGE.key: pl.Series(first.covered_pct, nan_to_null=True),
        }
    return pl.DataFrame(
        [
            values[column.key].alias(column.key)
            if column.key in values
            else pl.Series(column.key, [None] * count, dtype=pl.Float64)
            for column in MEASURED_COLUMNS
        ]
    ).cast({COUNTER_SAMPLES.key: pl.Int64})


def measured_reason(trace: Trace) -> str:
    """Why the columns hold nulls."""
    if has_measured_work(trace):
        return NOT_SAMPLED
    return missing_reason(trace, "gpu_metrics", NO_COUNTERS)


def measured_reasons(trace: Trace) -> dict[str, str]:
    """The same by column."""
    return dict.fromkeys((column.key for column in MEASURED_COLUMNS), measured_reason(trace))
