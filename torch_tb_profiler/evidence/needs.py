"""What a detector needs in a recording: without it, its check is inconclusive.

An entry of ``knowledge/advice.toml`` lists the names of its needs; this module tests each of them
for the selected steps, and says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.measured.work import is_role_measured
from torch_tb_profiler.analysis.recording.missing_reasons import (
    AnyCapability,
    missing_reason,
    recorder,
)
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.host_marks import host_marks
from torch_tb_profiler.knowledge.devices import GPU_TYPES
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Need(Struct, frozen=True):
    """Data that a recording must have.

    Attributes:
        is_met: Whether a context has it.
        missing: The reason if it has not.
        capability: Name of the missing data, for the reason that the recording states or the
            option of its recorder.
    """

    is_met: Callable[[Context], bool]
    missing: str
    capability: AnyCapability | None = None


def unmet_need(context: Context, names: tuple[str, ...]) -> str | None:
    """Why the first unmet need of ``names`` is not met; None if all are met."""
    need = next((NEEDS[name] for name in names if not NEEDS[name].is_met(context)), None)
    if need is None or need.capability is None:
        return None if need is None else need.missing
    return missing_reason(context.trace, need.capability, need.missing)


@per_trace
def _has_memory_shares(trace: Trace) -> bool:
    """Whether the allocated memory of some GPU of known size is recorded."""
    gpu = (
        pl.col("device_type").is_in(list(GPU_TYPES)) & pl.col("total_allocated_bytes").is_not_null()
    )
    devices = trace.memory.filter(gpu)["device"].unique()
    sized = trace.devices.filter(pl.col("memory_bytes") > 0)
    return bool(sized["device"].is_in(devices.to_list()).any())


@per_trace
def _has_python_frames(trace: Trace) -> bool:
    return not trace.python.is_empty() or not host_marks(trace)["collection"].is_empty()


@per_trace
def _has_roofs(trace: Trace) -> bool:
    from torch_tb_profiler.analysis.efficiency.roofs import roof_times  # noqa: PLC0415 - start-up

    return not np.isnan(roof_times(trace).roof_ns).all()


def _has_host_waits(trace: Trace) -> bool:
    """Whether waits for data are recorded: the journal of a run has them without operators."""
    unknown = unknown_roles(trace).keys()
    return Role.CPU_EXEC not in unknown or (
        "loader_batches" in trace.side and Role.DATALOADER not in unknown
    )


def _has_matrix_units(context: Context) -> bool:
    return context.architecture is not None and bool(context.architecture.matrix_dtypes)


def _has_values(key: str) -> Callable[[Context], bool]:
    """A test whether any kernel has a value in column ``key`` of the work."""
    return lambda context: context.kernels[key].null_count() < context.kernels.height


NEEDS = {
    "host": Need(
        lambda context: Role.CPU_EXEC not in unknown_roles(context.trace),
        "The recording has no host operators or calls.",
    ),
    "host_waits": Need(
        lambda context: _has_host_waits(context.trace),
        "The recording has no host operators or calls.",
    ),
    "host_calls": Need(
        lambda context: not {Role.CPU_EXEC, Role.RUNTIME} <= unknown_roles(context.trace).keys(),
        "The recording has no host events.",
    ),
    "device_work": Need(
        lambda context: not context.work.is_empty(),
        "No device work was recorded in these steps (CPU only, or devices were not profiled).",
    ),
    "launches": Need(
        _has_values("launch"),
        "The recording does not link kernels to the host calls that launched them.",
    ),
    "kernel_operators": Need(
        lambda context: not context.operator_kernels.is_empty(),
        "The recording does not link kernels to the operators that launched them.",
    ),
    "known_roofs": Need(
        lambda context: _has_roofs(context.trace),
        "FLOPs and bytes of the operators are unknown, or the peak rates of the device are.",
        "input_shapes",
    ),
    "matrix_units": Need(
        _has_matrix_units,
        "The GPUs have no known Tensor Cores, or the recording does not name the GPUs.",
    ),
    "several_devices": Need(
        lambda context: context.used_devices.height > 1, "Only one device ran work."
    ),
    "optimizer": Need(
        lambda context: bool(context.ranges_of(Category.OPTIMIZER).height),
        "The recording has no Optimizer.step in these steps.",
    ),
    "occupancy": Need(
        lambda context: (
            _has_values("est_achieved_occupancy_pct")(context)
            or is_role_measured(context.trace, "occupancy")
        ),
        "The recording has no occupancy of kernels.",
        "occupancy",
    ),
    "blocks_per_sm": Need(
        lambda context: (
            _has_values("blocks_per_sm")(context) or is_role_measured(context.trace, "sm_active")
        ),
        "The recording has no blocks per SM and no measured SM activity.",
    ),
    "sm_clock": Need(
        lambda context: is_role_measured(context.trace, "sm_clock"),
        "The recording has no samples of a GPU's clock.",
        "gpu_metrics",
    ),
    "gpu_memory": Need(
        lambda context: _has_memory_shares(context.trace),
        "The recording has no memory events of a GPU, or not its memory size.",
        "memory",
    ),
    "communication": Need(
        lambda context: len(records(context.trace).record) > 0,
        "The recording has no communication between ranks, or not its times.",
    ),
    "collective_sizes": Need(
        lambda context: records(context.trace).frame["input_bytes"].count() > 0,
        "The recording does not have the sizes of collectives.",
    ),
    "compiled_regions": Need(
        lambda context: not host_marks(context.trace)["region"].is_empty(),
        "The recording has no compiled region (torch.compile names them since torch 2.1).",
    ),
    "python_frames": Need(
        lambda context: _has_python_frames(context.trace),
        "The recording has no Python functions and no garbage collections.",
        "garbage_collection",
    ),
    "modules": Need(
        lambda context: bool(context.trace.python["module_id"].count()),
        "The recording has no modules.",
        "modules",
    ),
    "pytorch": Need(
        lambda context: recorder(context.trace).framework in (None, "PyTorch"),
        "The check is for PyTorch programs; this one uses another framework.",
    ),
    "cudnn_setting": Need(
        lambda context: context.trace.meta.info.settings.cudnn_benchmark is not None,
        "The value of torch.backends.cudnn.benchmark is not recorded.",
        "cudnn_setting",
    ),
    "environment": Need(
        lambda context: context.trace.meta.info.settings.environment is not None,
        "The environment variables of torch and its libraries are not recorded.",
        "settings",
    ),
    "determinism_setting": Need(
        lambda context: context.trace.meta.info.settings.deterministic_algorithms is not None,
        "Whether deterministic algorithms are on is not recorded.",
        "settings",
    ),
    "optimizer_setting": Need(
        lambda context: context.trace.meta.info.settings.optimizer_fused is not None,
        "The implementation of the optimizer (fused, foreach) is not recorded.",
        "settings",
    ),
    "data_parallel_setting": Need(
        lambda context: context.trace.meta.info.settings.data_parallel_options is not None,
        "The options of DistributedDataParallel are not recorded.",
        "settings",
    ),
    "three_steps": Need(
        lambda context: context.step_count >= 3, "Fewer than three whole steps are selected."
    ),
}
"""Name → need."""
