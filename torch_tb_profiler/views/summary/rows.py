"""The rows of the tables that only the summary has.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.idle.utilization import gpu_profiles, gpu_use
from torch_tb_profiler.analysis.kernels.function_summary import kernel_summary
from torch_tb_profiler.analysis.memory.by_event import memory_by_event, memory_peaks
from torch_tb_profiler.analysis.operators.summaries.calls import step_device_time_ns, step_time_ns
from torch_tb_profiler.analysis.operators.summaries.phases import model_summary
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.communication_summary import communication_times
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.call_times import side_keys, time_reasons, with_times
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shares import of_whole
from torch_tb_profiler.views.summary.columns import (
    DEVICE,
    DISTRIBUTED,
    KERNEL,
    MEMORY,
    MEMORY_PEAKS,
    MODEL,
    NO_CALLS,
    NOT_RECORDED,
    PROCESS,
    SYSTEM,
)
from torch_tb_profiler.views.summed_rows import NO_STEP_TIME, filled, unsorted

NO_EVENT = "It is outside all host events."
NO_TOTALS = "The recording does not say how much is allocated."
NO_POOL = "The allocator of this device states no reserved memory."


def device_table(trace: Trace, selection: Selection) -> Table:
    """How much host and GPUs were used.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    info = trace.meta.info
    windows = step_windows(trace, selection)
    used: list[tuple[str, float | None]] = [
        (PROCESS, info.process_cpu_pct),
        (SYSTEM, info.system_cpu_pct),
    ]
    for gpu, profile in gpu_profiles(trace).items():
        use = gpu_use(profile, windows.start_ns, windows.end_ns)
        used.append((f"GPU{gpu}", use.utilization_pct))
    rows = pl.DataFrame(used, schema=DEVICE.polars_schema(), orient="row")
    return filled(DEVICE, rows, {"utilization_pct": NOT_RECORDED})


def model_table(trace: Trace, selection: Selection) -> Table:
    """The steps and their phases, all of them whatever phase is selected.

    Raises:
        SelectionError: as above.
    """
    selection = replace(selection, phase=None)
    groups = model_summary(trace, selection)
    cpu_ns, gpu_ns = step_time_ns(trace, selection), step_device_time_ns(trace, selection)
    reasons = dict.fromkeys(("calls", *side_keys("cpu"), *side_keys("gpu")), NO_CALLS)
    return filled(MODEL, with_times(groups, cpu_ns, gpu_ns), reasons | time_reasons(trace))


def distributed_table(trace: Trace, selection: Selection) -> Table:
    """Communication and computation; no row where nothing communicates.

    Raises:
        SelectionError: as above.
    """
    times = communication_times(trace, selection)
    has_kernels = not trace.device_work.is_empty()
    rows = [] if times is None else [
        ("ProfileStep", times.step_ns),
        ("Communication", times.communication_ns),
        ("Computation", times.computation_ns if has_kernels else None),
        ("Overlap", times.overlap_ns if has_kernels else None),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema={"name": pl.String, "ns": pl.Int64}, orient="row")
    whole = 0 if times is None else times.step_ns
    shown = frame.with_columns(total_us=frame["ns"] / NS_PER_US, pct=of_whole(frame["ns"], whole))
    unknown = NO_STEP_TIME if has_kernels else f"Computation needs kernels. {NO_DEVICE_WORK}"
    return filled(DISTRIBUTED, shown, {"total_us": unknown, "pct": unknown})


def kernel_table(trace: Trace, selection: Selection) -> Table:
    """Kernels by function.

    Raises:
        SelectionError: as above.
    """
    groups, whole = kernel_summary(trace, selection)
    shown = groups.with_columns(
        *(
            microseconds(groups[key.replace("_us", "_ns")]).alias(key)
            for key in side_keys("gpu")[:-1]
        ),
        gpu_pct=of_whole(groups["gpu_total_ns"], whole),
    )
    return filled(KERNEL, shown, {"gpu_pct": "The kernels have no duration."})


def memory_table(trace: Trace, selection: Selection) -> Table:
    """Memory events by the host event that they lie in.

    Raises:
        SelectionError: as above.
    """
    spec = replace(MEMORY, when_empty=missing_reason(trace, "memory", MEMORY.when_empty))
    return unsorted(spec, memory_by_event(trace, selection), {"name": NO_EVENT})


def peaks_table(trace: Trace, selection: Selection) -> Table:
    """The peaks of memory by device.

    Raises:
        SelectionError: as above.
    """
    spec = replace(MEMORY_PEAKS, when_empty=missing_reason(trace, "memory", MEMORY.when_empty))
    reasons = {"peak_allocated_bytes": NO_TOTALS, "peak_reserved_bytes": NO_POOL}
    return filled(spec, memory_peaks(trace, selection), reasons)
