"""The table of iterations, and their lengths as bars.

Definitions: ``docs/views-iterations.md#how-it-is-counted``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.idle.resources import (
    OF_DEVICE,
    Resource,
    gpus_used,
    mean_resource_times,
    unknown_resources,
)
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.steps.iterations.windows import Iterations, iteration_numbers
from torch_tb_profiler.analysis.steps.masks import device_work_steps
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.energy import energy_of_windows, energy_reasons
from torch_tb_profiler.views.iterations.columns import ITERATIONS
from torch_tb_profiler.views.measured_columns import (
    OF_STEP,
    columns_of_windows,
    measured_reason,
)
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Line, Series, Table

RESOURCE_KEYS = {resource: f"{resource.name.lower()}_us" for resource in Resource}
MOST_BARS = 400
"""Bars of the series; of more iterations each bar is the mean of some that follow one another."""

NO_TIME = "The iteration has no duration."

_OF_DEVICE = (
    "kernels",
    "tensor_core_kernels",
    "gpu_time_mean_us",
    "gpu_time_pct",
    "tensor_core_time_mean_us",
    "tensor_core_time_pct",
    "memory_operations",
)


def iterations_table(trace: Trace, selected: Iterations) -> Table:
    """One row per iteration."""
    windows = selected.windows
    length = (windows.end_ns - windows.start_ns).astype(np.float64)
    unknown = unknown_resources(trace)
    columns: dict[str, object] = {
        "iteration": iteration_numbers(trace),
        "start_us": windows.start_ns / NS_PER_US,
        "duration_us": length / NS_PER_US,
        "selected": selected.selected,
    }
    columns |= _device_columns(trace, selected, length)
    parts = mean_resource_times(trace, windows.start_ns, windows.end_ns) / NS_PER_US
    columns |= {key: parts[:, resource] for resource, key in RESOURCE_KEYS.items()}
    nulls = {RESOURCE_KEYS[resource]: reason for resource, reason in unknown.items()}
    not_launched = unknown.get(OF_DEVICE[0])
    if not_launched is None and not (device_work_steps(trace) >= 0).any():
        not_launched = no_device_time(trace)
    if not_launched is not None:
        nulls |= dict.fromkeys(_OF_DEVICE, not_launched)
    columns |= {key: [None] * len(length) for key in nulls}
    columns |= _measured(trace, windows.start_ns, windows.end_ns)
    nulls |= dict.fromkeys((column.key for column in OF_STEP), measured_reason(trace))
    nulls |= energy_reasons(trace)
    schema = ITERATIONS.polars_schema()
    frame = pl.DataFrame({key: columns[key] for key in schema}, schema=schema, nan_to_null=True)
    no_time = dict.fromkeys(("gpu_time_pct", "tensor_core_time_pct"), NO_TIME)
    return Table(ITERATIONS, frame, needed(frame, no_time | nulls))


def _measured(trace: Trace, start_ns: Int64, end_ns: Int64) -> dict[str, object]:
    """What counters measured in each iteration."""
    used = trace.devices.filter("used")["device"].to_list()
    measured = columns_of_windows(trace, start_ns, end_ns, used)
    measured = measured.hstack(energy_of_windows(trace, start_ns, end_ns))
    return {column.name: column for column in measured}


def _device_columns(trace: Trace, selected: Iterations, length_ns: Float64) -> dict[str, object]:
    """What was launched in each iteration."""
    window = np.append(selected.windows.of_step, -1)[device_work_steps(trace)]
    kinds = kernel_kinds(trace)
    uses = kinds.tensor_core == codes.YES
    duration = trace.device_work["dur_ns"].to_numpy()
    gpus = max(len(gpus_used(trace)), 1)

    def count(rows: Bools) -> Int64:
        inside = window[rows & (window >= 0)]
        return np.bincount(inside, minlength=len(length_ns)).astype(np.int64)

    def mean_time(rows: Bools) -> Float64:
        inside = rows & (window >= 0)
        summed = np.bincount(window[inside], duration[inside], len(length_ns))
        mean: Float64 = summed / gpus
        return mean

    gpu, tensor_core = mean_time(np.ones_like(uses)), mean_time(uses)
    with np.errstate(divide="ignore", invalid="ignore"):
        gpu_pct, tensor_core_pct = (
            np.where(length_ns > 0, 100 * time / length_ns, np.nan) for time in (gpu, tensor_core)
        )
    return {
        "kernels": count(kinds.is_kernel),
        "tensor_core_kernels": count(uses),
        "memory_operations": count(~kinds.is_kernel),
        "gpu_time_mean_us": gpu / NS_PER_US,
        "gpu_time_pct": gpu_pct,
        "tensor_core_time_mean_us": tensor_core / NS_PER_US,
        "tensor_core_time_pct": tensor_core_pct,
    }


def iteration_series(table: Table) -> Series:
    """The rows of :func:`iterations_table` as stacked bars, of many as means of neighbours."""
    frame = table.frame
    size = -(-frame.height // MOST_BARS) or 1
    bars = frame.group_by(pl.int_range(pl.len()) // size, maintain_order=True).agg(
        pl.col("iteration").first(), pl.col(*RESOURCE_KEYS.values()).mean()
    )
    x = [
        float(index if number is None else number) for index, number in enumerate(bars["iteration"])
    ]
    titles = {column.key: column.title for column in table.spec.columns}
    lines = tuple(
        Line(titles[key], x, bars[key].to_list())
        for key in RESOURCE_KEYS.values()
        if key not in table.null_reasons
    )
    return Series("Iteration time", "stacked_bar", "Iteration", None, "Time", "us", lines)
