"""What a detector needs to know: where a recording lacks it, silence means nothing.

An entry of ``knowledge/advice.toml`` lists the names of its needs; this module says of each whether
the steps looked at meet it, and what to tell where they do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.recording.missing_reasons import (
    AnyCapability,
    missing_reason,
    recorder,
)
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.host_marks import marks
from torch_tb_profiler.knowledge.devices import GPU_TYPES
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True)
class Need:
    """Something that has to be in the recording.

    Attributes:
        is_met: Whether it is.
        missing: What to tell where it is not.
        what: Name of what is missing, for which recordings have reasons and recorders options.
    """

    is_met: Callable[[Context], bool]
    missing: str
    what: AnyCapability | None = None


def unmet(context: Context, names: tuple[str, ...]) -> str | None:
    """Why the first of some needs that is not met is not; None where all are."""
    need = next((NEEDS[name] for name in names if not NEEDS[name].is_met(context)), None)
    if need is None or need.what is None:
        return None if need is None else need.missing
    return missing_reason(context.trace, need.what, need.missing)


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
    return not trace.python.is_empty() or not marks(trace)["collection"].is_empty()


@per_trace
def _has_roofs(trace: Trace) -> bool:
    from torch_tb_profiler.analysis.efficiency.roofs import roof_times  # noqa: PLC0415 - start-up

    return not np.isnan(roof_times(trace).roof_ns).all()


def _tells_waits(trace: Trace) -> bool:
    """Whether waits for data would be seen: a journal of a run has them, and no operators."""
    unknown = unknown_roles(trace).keys()
    return Role.CPU_EXEC not in unknown or (
        "loader_batches" in trace.side and Role.DATALOADER not in unknown
    )


def _has_matrix_units(context: Context) -> bool:
    return context.architecture is not None and bool(context.architecture.matrix_dtypes)


def _knows(key: str) -> Callable[[Context], bool]:
    """Whether some kernel has a value in column ``key`` of the work."""
    return lambda context: context.kernels[key].null_count() < context.kernels.height


NEEDS = {
    "host": Need(
        lambda context: Role.CPU_EXEC not in unknown_roles(context.trace),
        "The recording holds nothing of what the host runs.",
    ),
    "host_waits": Need(
        lambda context: _tells_waits(context.trace),
        "The recording holds nothing of what the host runs.",
    ),
    "host_calls": Need(
        lambda context: not {Role.CPU_EXEC, Role.RUNTIME} <= unknown_roles(context.trace).keys(),
        "The recording holds nothing of the host.",
    ),
    "device_work": Need(
        lambda context: not context.work.is_empty(),
        "No device work was recorded in these steps (CPU only, or devices were not profiled).",
    ),
    "launches": Need(
        _knows("launch"), "The recording does not tell which host calls launched the kernels."
    ),
    "kernel_operators": Need(
        lambda context: not context.operator_kernels.is_empty(),
        "The recording does not tell which operators launched the kernels.",
    ),
    "known_roofs": Need(
        lambda context: _has_roofs(context.trace),
        "Neither FLOPs nor bytes of what ran on a device are known, or not what the device can do.",
        "input_shapes",
    ),
    "matrix_units": Need(
        _has_matrix_units,
        "The GPUs have no matrix units that are known, or the recording does not name them.",
    ),
    "several_devices": Need(
        lambda context: context.used_devices.height > 1, "Only one device ran work."
    ),
    "optimizer": Need(
        lambda context: bool(context.ranges_of(Category.OPTIMIZER).height),
        "No Optimizer.step was recorded in these steps.",
    ),
    "occupancy": Need(
        _knows("est_achieved_occupancy_pct"),
        "The profiler recorded no occupancy of kernels.",
        "occupancy",
    ),
    "blocks_per_sm": Need(
        _knows("blocks_per_sm"), "The profiler recorded no blocks per multiprocessor."
    ),
    "gpu_memory": Need(
        lambda context: _has_memory_shares(context.trace),
        "The recording holds no memory events of a GPU, or not how much memory it has.",
        "memory",
    ),
    "communication": Need(
        lambda context: len(records(context.trace).record) > 0,
        "The recording holds no communication between ranks, or not when it ran.",
    ),
    "collective_sizes": Need(
        lambda context: records(context.trace).frame["input_bytes"].count() > 0,
        "The recording does not give the sizes of collectives.",
    ),
    "compiled_regions": Need(
        lambda context: not marks(context.trace)["region"].is_empty(),
        "The recording holds no region that torch.compile made (it names them since torch 2.1).",
    ),
    "python_frames": Need(
        lambda context: _has_python_frames(context.trace),
        "The recording holds no Python functions, and does not tell when garbage is collected.",
        "garbage_collection",
    ),
    "modules": Need(
        lambda context: bool(context.trace.python["module_id"].count()),
        "The recording holds no modules.",
        "modules",
    ),
    "pytorch": Need(
        lambda context: recorder(context.trace).framework in (None, "PyTorch"),
        "It is about programs of PyTorch, and another framework ran this one.",
    ),
    "cudnn_setting": Need(
        lambda context: context.trace.meta.info.settings.cudnn_benchmark is not None,
        "Nobody recorded whether torch.backends.cudnn.benchmark is on.",
        "cudnn_setting",
    ),
    "environment": Need(
        lambda context: context.trace.meta.info.settings.environment is not None,
        "Nobody recorded the variables of the environment that torch and its libraries read.",
        "settings",
    ),
    "determinism_setting": Need(
        lambda context: context.trace.meta.info.settings.deterministic_algorithms is not None,
        "Nobody recorded whether deterministic algorithms are asked for.",
        "settings",
    ),
    "optimizer_setting": Need(
        lambda context: context.trace.meta.info.settings.optimizer_fused is not None,
        "Nobody recorded how the optimizer updates its parameters.",
        "settings",
    ),
    "data_parallel_setting": Need(
        lambda context: context.trace.meta.info.settings.data_parallel_options is not None,
        "Nobody recorded options of a wrapper for data parallelism.",
        "settings",
    ),
    "three_steps": Need(
        lambda context: context.step_count >= 3, "Fewer than three whole steps are selected."
    ),
}
"""Name → need."""
