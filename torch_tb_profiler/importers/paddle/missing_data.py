"""What Paddle's profiler never records, or a recording does not contain, with reasons."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import Capability, NotRecorded

NEVER_RECORDED: tuple[tuple[Capability, str], ...] = (
    ("python", "Paddle's profiler does not record Python frames."),
    (
        "modules",
        "Paddle's profiler records calls of layers as ranges (Forward), without the name of the "
        "module.",
    ),
    ("collective_sizes", "Paddle's profiler does not record message sizes."),
    ("graph_kernels", "Paddle's profiler does not record nodes of CUDA graphs."),
    ("counters", "Paddle's profiler does not record counters."),
    ("gpu_metrics", "Paddle's profiler does not sample the GPU."),
    ("flops", "Paddle's profiler does not record FLOPs."),
)
"""(what the format does not have, the reason)."""

_NO_INPUTS = (
    "This recording of Paddle has no {}. Paddle records them with Profiler(record_shapes=True), "
    "into protobuf files, and only for static graphs of its old executor (FLAGS_enable_pir_api=0): "
    "not for dynamic graphs, whatever is set."
)
OPERATOR_COLUMNS: dict[Capability, tuple[str, str]] = {
    "input_shapes": (
        "input_shape_code",
        _NO_INPUTS.format("input shapes"),
    ),
    "input_types": (
        "input_type_code",
        _NO_INPUTS.format("input types"),
    ),
    "call_stacks": (
        "call_stack_code",
        _NO_INPUTS.format("call stacks"),
    ),
}
"""What may be missing → its column of the operator table, and the reason."""

NO_MEMORY = "Profiler(profile_memory=True) was not set: the recording has no memory events."
HOST_ONLY = (
    "The recording has neither runtime calls nor device work: only the host was recorded "
    "(ProfilerTarget.CPU), or Paddle was built without support for the device."
)
DEVICE_CAPABILITIES: tuple[Capability, ...] = (
    "runtime", "kernels", "copies", "launches", "occupancy", "blocks_per_sm", "shared_memory",
    "registers",
)  # fmt: skip


def not_recorded(columns: EventColumns) -> tuple[NotRecorded, ...]:
    """What a recording does not contain, with reasons."""
    tables = columns.tables
    missing = list(NEVER_RECORDED)
    for capability, (column, reason) in OPERATOR_COLUMNS.items():
        if not np.any(tables["operator"][column] >= 0):
            missing.append((capability, reason))
    if not tables["memory"]["time_ns"].size:
        missing.append(("memory", NO_MEMORY))
    if not tables["device"]["slice"].size and not np.any(
        tables["slices"]["category"] == Category.RUNTIME
    ):
        missing += [(capability, HOST_ONLY) for capability in DEVICE_CAPABILITIES]
    return tuple(NotRecorded(capability, reason) for capability, reason in missing)
