"""The GPU part of the overview: one row, a few facts and notes per GPU that ran work."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection, device_work_mask
from torch_tb_profiler.analysis.step_windows import StepWindows
from torch_tb_profiler.analysis.utilization import (
    NO_KNOWN_KERNEL,
    gpu_profiles,
    gpu_use,
    tensor_core_time,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.device_properties import (
    COMPUTE_CAPABILITY,
    DEVICE_MEMORY,
    compute_capability,
    property_reasons,
)
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Fact, Note, Table, TableSpec

NO_STEP_TIME = "No time of a step lies in the selection."

UTILIZATION = Column(
    "utilization_pct",
    "GPU Utilization",
    "number",
    "pct",
    "Share of the steps' time in which at least one kernel (communication too, copies not) ran.",
)
SM_EFFICIENCY = Column(
    "est_sm_efficiency_pct",
    "SM Efficiency",
    "number",
    "pct",
    "Blocks per multiprocessor of the kernels that run at a moment, added up and capped at 1, "
    "averaged over the steps' time. 100 % means every multiprocessor had a block all the time.",
    estimated=True,
)
OCCUPANCY = Column(
    "est_achieved_occupancy_pct",
    "Achieved Occupancy",
    "number",
    "pct",
    "The profiler's estimate of active warps over the most a multiprocessor can hold, averaged "
    "over the kernels weighted by their time in the steps.",
    estimated=True,
)
TENSOR_CORE_TIME = Column(
    "tensor_core_time_pct",
    "Kernel Time using Tensor Cores",
    "number",
    "pct",
    "Share of the selection's kernel time in kernels that use Tensor Cores. Kernels no rule knows "
    "count as not using them, so it is a lower bound.",
)

GPUS = TableSpec(
    "gpus",
    "GPUs",
    "One row per GPU that ran work in this recording.",
    (
        Column("gpu", "GPU", "integer", None, "Number of the device, as the program counts them."),
        Column("name", "Name", "string", None, "Name of the device."),
        DEVICE_MEMORY,
        COMPUTE_CAPABILITY,
        UTILIZATION,
        SM_EFFICIENCY,
        OCCUPANCY,
        TENSOR_CORE_TIME,
    ),
    sort="gpu",
)


def gpu_table(trace: Trace, selection: Selection, windows: StepWindows) -> Table:
    """The GPUs that ran work, over the time of ``windows``."""
    mask = device_work_mask(trace, selection)
    declared = {row["device"]: row for row in trace.devices.iter_rows(named=True)}
    rows: list[tuple[object, ...]] = []
    for gpu, profile in sorted(gpu_profiles(trace).items()):
        device = declared.get(gpu, {})
        use = gpu_use(profile, windows.start_ns, windows.end_ns)
        rows.append(
            (
                gpu,
                device.get("name"),
                device.get("memory_bytes"),
                compute_capability(device),
                use.utilization_pct,
                use.est_sm_efficiency_pct,
                use.est_achieved_occupancy_pct,
                tensor_core_time(trace, gpu, mask).used_pct,
            )
        )
    frame = pl.DataFrame(rows, schema=GPUS.polars_schema(), orient="row")
    has_time = bool((windows.end_ns > windows.start_ns).any())
    reasons = property_reasons(declared.get(gpu, {}) for gpu in gpu_profiles(trace)) | {
        UTILIZATION.key: NO_STEP_TIME,
        SM_EFFICIENCY.key: "The profiler recorded no blocks per SM." if has_time else NO_STEP_TIME,
        OCCUPANCY.key: "No kernel with a recorded occupancy ran in this time."
        if has_time
        else NO_STEP_TIME,
        TENSOR_CORE_TIME.key: NO_KNOWN_KERNEL,
    }
    return Table(GPUS, frame, needed(frame, reasons))


def gpu_facts(table: Table) -> tuple[Fact, ...]:
    """The measures of each GPU as facts, in the words of the table's columns."""
    return tuple(
        Fact(
            key=f"gpu_{column.key}" if column is UTILIZATION else column.key,
            title=f"Est. {column.title}" if column.estimated else column.title,
            value=row[column.key],
            unit=column.unit,
            scope=f"GPU {row['gpu']}",
            help=column.help,
            reason=None if row[column.key] is not None else table.null_reasons[column.key],
        )
        for row in table.frame.iter_rows(named=True)
        for column in (UTILIZATION, SM_EFFICIENCY, OCCUPANCY, TENSOR_CORE_TIME)
    )


def gpu_notes(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    """Says where the Tensor Core share is only a bound."""
    mask = device_work_mask(trace, selection)
    notes = []
    for gpu in sorted(gpu_profiles(trace)):
        time = tensor_core_time(trace, gpu, mask)
        if time.unknown_ns:
            least = time.used_pct or 0.0
            most = least + time.unknown_pct
            notes.append(
                Note(
                    kind="quality",
                    code="tensor_core_use_unknown",
                    severity="info",
                    text=f"GPU {gpu}: no rule knows whether kernels with {time.unknown_pct:.1f} % "
                    "of the kernel time use Tensor Cores; the true share lies between "
                    f"{least:.1f} % and {most:.1f} %.",
                    evidence={
                        "gpu": gpu,
                        "unknown_us": time.unknown_ns / NS_PER_US,
                        "columns": ["tensor_core_time_pct"],
                    },
                )
            )
    return tuple(notes)
