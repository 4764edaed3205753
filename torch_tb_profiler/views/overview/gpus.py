"""The GPU part of the overview: one row, a few facts and notes per GPU that ran work."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from torch_tb_profiler.analysis.communication.certainty import communication_certainty
from torch_tb_profiler.analysis.idle.resources import unused_gpus
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles, gpu_use
from torch_tb_profiler.analysis.kernels.tensor_core_time import (
    BoundedShare,
    TensorCoreTime,
    tensor_core_time,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.kernels import kernel_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.device_properties import (
    ALWAYS,
    COMPUTE_CAPABILITY,
    DEVICE_MEMORY,
    SM_COUNT,
    compute_capability,
    property_reasons,
)
from torch_tb_profiler.views.measured_columns import OF_STEP, means_of_windows, measured_reason
from torch_tb_profiler.views.null_reasons import missing_reason, needed, recorded_reason
from torch_tb_profiler.views.schema import Column, Fact, Note, Table, TableSpec

NO_GPU_WORK = "No GPU work was recorded: the program used no GPU, or devices were not profiled."
NO_BLOCKS = "The profiler recorded no blocks per SM."
NO_OCCUPANCY = "No kernel in this time has a recorded occupancy."
OF_OTHER_RANKS = (
    "The recording is of one rank of a job, and other ranks may use the other visible GPUs: see "
    "the mean of the GPUs used here."
)
NO_STEP_TIME = "The selection contains no step time."

UTILIZATION = Column(
    "utilization_pct",
    "GPU Utilization",
    "number",
    "pct",
    "Share of step time in which at least one kernel ran (communication included, copies not).",
)
SM_EFFICIENCY = Column(
    "est_sm_efficiency_pct",
    "SM Efficiency",
    "number",
    "pct",
    "Blocks per multiprocessor, summed over concurrent kernels and capped at 1, averaged over "
    "step time. 100 % means that every multiprocessor had a block all the time.",
    estimated=True,
)
OCCUPANCY = Column(
    "est_achieved_occupancy_pct",
    "Achieved Occupancy",
    "number",
    "pct",
    "Estimate of active warps over the most a multiprocessor can hold, averaged over kernels, "
    "weighted by their time in the steps: the profiler's own, or, where it has none, from the "
    "launches and the rules of the device.",
    estimated=True,
)
COMPUTE_UTILIZATION = Column(
    "compute_utilization_pct",
    "GPU Utilization without Communication",
    "number",
    "pct",
    "Share of step time in which at least one kernel other than communication ran. A "
    "communication kernel that waits for other ranks keeps the GPU busy without computing. Empty "
    "where several ranks took part and too many kernels are not recognized; see the bounds then.",
)
TENSOR_CORE_TIME = Column(
    "tensor_core_time_pct",
    "Kernel Time using Tensor Cores",
    "number",
    "pct",
    "Share of kernel time, communication included, in kernels that use Tensor Cores. Empty if "
    "the use is unknown for too much of the time; see the bounds then.",
)
COMPUTE_TENSOR_CORE_TIME = Column(
    "compute_tensor_core_time_pct",
    "Compute Time using Tensor Cores",
    "number",
    "pct",
    "Share of kernel time without communication in kernels that use Tensor Cores. Empty if the "
    "use is unknown for too much of the time; see the bounds then.",
)


def _bounds(share: Column) -> tuple[Column, Column]:
    return (
        Column(
            share.key.replace("_pct", "_min_pct"),
            f"{share.title}, at least",
            "number",
            "pct",
            "The share if no kernel of unknown use used Tensor Cores.",
        ),
        Column(
            share.key.replace("_pct", "_max_pct"),
            f"{share.title}, at most",
            "number",
            "pct",
            "The share if every kernel of unknown use used Tensor Cores.",
        ),
    )


SHARES = (TENSOR_CORE_TIME, COMPUTE_TENSOR_CORE_TIME)

COMPUTE_BOUNDS = (
    Column(
        "compute_utilization_min_pct",
        f"{COMPUTE_UTILIZATION.title}, at least",
        "number",
        "pct",
        "The share if every kernel that is not recognized communicated, in a recording of several "
        "ranks.",
    ),
    Column(
        "compute_utilization_max_pct",
        f"{COMPUTE_UTILIZATION.title}, at most",
        "number",
        "pct",
        "The share if no kernel that is not recognized communicated.",
    ),
)

GPUS = TableSpec(
    "gpus",
    "GPUs",
    "One row per GPU that ran work in this recording.",
    (
        Column("gpu", "GPU", "integer", None, "Index of the device, as the program numbers them."),
        Column("name", "Name", "string", None, "Name of the device."),
        DEVICE_MEMORY,
        COMPUTE_CAPABILITY,
        UTILIZATION,
        SM_EFFICIENCY,
        OCCUPANCY,
        TENSOR_CORE_TIME,
        COMPUTE_UTILIZATION,
        COMPUTE_TENSOR_CORE_TIME,
        *(bound for share in SHARES for bound in _bounds(share)),
        SM_COUNT,
        *COMPUTE_BOUNDS,
        *OF_STEP,
    ),
    sort="gpu",
    when_empty=NO_GPU_WORK,
)


def gpu_table(trace: Trace, selection: Selection, windows: StepWindows) -> Table:
    """The GPUs that ran work, over the time of ``windows``."""
    shares = _shares(trace, selection)
    declared = {row["device"]: row for row in trace.devices.iter_rows(named=True)}
    rows: list[tuple[object, ...]] = []
    compute_reasons: list[str] = []
    for gpu, profile in sorted(gpu_profiles(trace).items()):
        device = declared.get(gpu, {})
        use = gpu_use(profile, windows.start_ns, windows.end_ns)
        least, most = use.compute_utilization_min_pct, use.compute_utilization_pct
        reason = _unknown_compute(trace, least, most)
        compute_reasons += [] if reason is None else [reason]
        whole, compute = shares[gpu]
        rows.append(
            (
                gpu,
                device.get("name"),
                device.get("memory_bytes"),
                compute_capability(device),
                use.utilization_pct,
                use.est_sm_efficiency_pct,
                use.est_achieved_occupancy_pct,
                whole.pct,
                most if reason is None else None,
                compute.pct,
                *(bound for share in shares[gpu] for bound in (share.least_pct, share.most_pct)),
                device.get("sm_count"),
                least,
                most,
                *means_of_windows(trace, windows.start_ns, windows.end_ns, gpu).values(),
            )
        )
    frame = pl.DataFrame(rows, schema=GPUS.polars_schema(), orient="row")
    has_time = bool((windows.end_ns > windows.start_ns).any())
    described = (declared.get(gpu, {}) for gpu in gpu_profiles(trace))
    reasons = property_reasons(described, (*ALWAYS, SM_COUNT.key)) | {
        UTILIZATION.key: NO_STEP_TIME,
        COMPUTE_UTILIZATION.key: next(iter(compute_reasons), NO_STEP_TIME),
        **{bound.key: NO_STEP_TIME for bound in COMPUTE_BOUNDS},
        SM_EFFICIENCY.key: NO_STEP_TIME,
        OCCUPANCY.key: NO_STEP_TIME,
        **_share_reasons(shares.values()),
        **dict.fromkeys((column.key for column in OF_STEP), measured_reason(trace)),
    }
    if has_time:
        reasons[SM_EFFICIENCY.key] = missing_reason(trace, "blocks_per_sm", NO_BLOCKS)
        reasons[OCCUPANCY.key] = missing_reason(trace, "occupancy", NO_OCCUPANCY)
    return Table(GPUS, frame, needed(frame, reasons))


def _unknown_compute(trace: Trace, least: float | None, most: float | None) -> str | None:
    """Why :data:`COMPUTE_UTILIZATION` is null between these bounds; None where it is ``most``."""
    if least is None or most is None:
        return NO_STEP_TIME
    reason = communication_certainty(trace).null_reason
    if reason is not None or most - least <= kernel_file().max_unknown_pct:
        return reason
    return (
        "Too much of the time is in kernels that are not recognized and may communicate: the share "
        f"lies between {least:.1f} % and {most:.1f} %."
    )


def _shares(trace: Trace, selection: Selection) -> dict[int, tuple[BoundedShare, BoundedShare]]:
    """Per GPU the values of :data:`SHARES`."""
    mask = device_work_mask(trace, selection)
    times = {gpu: tensor_core_time(trace, gpu, mask) for gpu in gpu_profiles(trace)}
    return {gpu: (time.used, time.used_of_compute) for gpu, time in times.items()}


def _share_reasons(shares: Iterable[tuple[BoundedShare, BoundedShare]]) -> dict[str, str]:
    """Why shares and bounds are null, of the first GPU where they are."""
    reasons: dict[str, str] = {}
    for of_gpu in shares:
        for column, share in zip(SHARES, of_gpu, strict=True):
            if share.null_reason is not None:
                reasons.setdefault(column.key, share.null_reason)
            if share.reason is not None:
                for bound in _bounds(column):
                    reasons.setdefault(bound.key, share.reason)
    return reasons


def gpu_facts(trace: Trace, selection: Selection, table: Table) -> tuple[Fact, ...]:
    """The measures of each GPU as facts, in the words of the table's columns."""
    shares, compute = _shares(trace, selection), [bound.key for bound in COMPUTE_BOUNDS]
    reasons = {
        row["gpu"]: table.null_reasons
        | _share_reasons([shares[row["gpu"]]])
        | {COMPUTE_UTILIZATION.key: _unknown_compute(trace, *(row[key] for key in compute)) or ""}
        for row in table.frame.iter_rows(named=True)
    }
    return tuple(
        Fact(
            key=f"gpu_{column.key}" if column in _UTILIZATIONS else column.key,
            title=f"Est. {column.title}" if column.estimated else column.title,
            value=row[column.key],
            unit=column.unit,
            scope=f"GPU {row['gpu']}",
            help=column.help,
            reason=None if row[column.key] is not None else reasons[row["gpu"]][column.key],
        )
        for row in table.frame.iter_rows(named=True)
        for column in (*_UTILIZATIONS, SM_EFFICIENCY, *_measured_of(row), OCCUPANCY, *SHARES)
    )


def _measured_of(row: dict[str, object]) -> tuple[Column, ...]:
    """The columns of counters that a GPU has values of."""
    return tuple(column for column in OF_STEP[:2] if row[column.key] is not None)


_UTILIZATIONS = (UTILIZATION, COMPUTE_UTILIZATION)


def mean_facts(trace: Trace, table: Table) -> tuple[Fact, ...]:
    """The utilization of all GPUs as one number: of those that the program sees, and of those that
    ran its work."""
    used = table.frame[UTILIZATION.key]
    visible = trace.devices.height
    no_work = recorded_reason(trace, "kernels") or NO_GPU_WORK
    reason = no_work if table.frame.is_empty() else NO_STEP_TIME
    known = not used.is_empty() and not used.null_count()
    total = float(used.sum()) if known else 0.0
    of_others = known and unused_gpus(trace) is None
    return (
        Fact(
            "gpu_utilization_mean_pct",
            "GPU utilization, mean",
            total / visible if known and not of_others else None,
            "pct",
            None,
            "Mean over the GPUs visible to the program; unused ones count as 0. Unknown for a rank "
            "of a job, whose other ranks may use them.",
            OF_OTHER_RANKS if of_others else None if known else reason,
        ),
        Fact(
            "gpu_utilization_used_mean_pct",
            "GPU utilization, mean of used GPUs",
            total / len(used) if known else None,
            "pct",
            None,
            "Mean over the GPUs that ran work in this recording.",
            None if known else reason,
        ),
    )


def _of_compute(time: TensorCoreTime) -> str:
    """The same bounds of the time without communication, where there is any."""
    share = time.used_of_compute
    if not time.communication_ns or share.least_pct is None:
        return ""
    return f" (without communication: between {share.least_pct:.1f} % and {share.most_pct:.1f} %)"


def gpu_notes(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    """Says where the Tensor Core share is only a bound."""
    mask = device_work_mask(trace, selection)
    notes = []
    for gpu in sorted(gpu_profiles(trace)):
        time = tensor_core_time(trace, gpu, mask)
        if time.unknown_ns and time.unknown_pct >= 0.05:  # what one decimal shows
            least = time.used_ns / time.whole_ns * 100
            most = least + time.unknown_pct
            notes.append(
                Note(
                    kind="quality",
                    code="tensor_core_use_unknown",
                    severity="info",
                    text=f"GPU {gpu}: Tensor Core use is unknown for {time.unknown_pct:.1f} % of "
                    f"the kernel time; the share that uses them is between {least:.1f} % and "
                    f"{most:.1f} %{_of_compute(time)}.",
                    evidence={
                        "gpu": gpu,
                        "unknown_us": time.unknown_ns / NS_PER_US,
                        "columns": [share.key for share in SHARES],
                    },
                )
            )
    return tuple(notes)
