"""What Paddle's profiler does not record, or one recording of it does not hold, and why."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import Capability, NotRecorded

NEVER: tuple[tuple[Capability, str], ...] = (
    ("python", "Paddle's profiler does not record Python frames."),
    (
        "modules",
        "Paddle's profiler records calls of layers as ranges (Forward), without the module that "
        "each is of.",
    ),
    ("collective_sizes", "Paddle's profiler does not record what its communication moves."),
    ("graph_kernels", "Paddle's profiler does not tell nodes of CUDA graphs."),
    ("counters", "Paddle's profiler records no counters."),
    ("gpu_metrics", "Paddle's profiler does not sample the GPU."),
    ("flops", "Paddle's recordings hold no FLOPs."),
)
"""What it has no place for."""

INPUTS: dict[Capability, tuple[str, str]] = {
    "input_shapes": (
        "input_shape_code",
        "This recording of Paddle holds no shapes of inputs: it was made without "
        "Profiler(record_shapes=True), or its operators are of dynamic graphs, for which Paddle "
        "writes none.",
    ),
    "input_types": (
        "input_type_code",
        "This recording of Paddle holds no types of inputs: it was made without "
        "Profiler(record_shapes=True), or its operators are of dynamic graphs, for which Paddle "
        "writes none.",
    ),
    "call_stacks": (
        "call_stack_code",
        "This recording of Paddle holds no call stacks: it writes those of operators of static "
        "graphs only.",
    ),
}
"""Column of operators, and why it may be empty."""

NO_MEMORY = "Profiler(profile_memory=True) was not set: the recording holds no memory events."
ON_HOST_ONLY = (
    "The recording holds neither calls into a device's runtime nor device work: the host alone "
    "was recorded (ProfilerTarget.CPU), or Paddle was built without support of the device."
)
OF_DEVICES: tuple[Capability, ...] = (
    "runtime", "kernels", "copies", "launches", "occupancy", "blocks_per_sm", "shared_memory",
    "registers",
)  # fmt: skip


def not_recorded(columns: EventColumns) -> tuple[NotRecorded, ...]:
    """What a recording lacks."""
    tables = columns.tables
    lacking = list(NEVER)
    for what, (column, reason) in INPUTS.items():
        if not np.any(tables["operator"][column] >= 0):
            lacking.append((what, reason))
    if not tables["memory"]["time_ns"].size:
        lacking.append(("memory", NO_MEMORY))
    if not tables["device"]["slice"].size and not np.any(
        tables["slices"]["category"] == Category.RUNTIME
    ):
        lacking += [(what, ON_HOST_ONLY) for what in OF_DEVICES]
    return tuple(NotRecorded(what, reason) for what, reason in lacking)
