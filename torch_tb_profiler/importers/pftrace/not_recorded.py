"""What a recording lacks, and that it is the format that lacks it."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from torch_tb_profiler.importers.pftrace.details import is_present
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays
from torch_tb_profiler.trace.info import Capability, NotRecorded

NOT_KEPT: tuple[tuple[Capability, str, str, str], ...] = (
    (
        "shared_memory",
        "device",
        "shared_memory_bytes",
        "a .pftrace keeps the dynamic shared memory of kernels but not the static one",
    ),
    (
        "occupancy",
        "device",
        "est_achieved_occupancy_pct",
        "a .pftrace keeps no estimate of occupancy",
    ),
    ("blocks_per_sm", "device", "blocks_per_sm", "a .pftrace keeps no blocks per multiprocessor"),
    ("memory", "memory", "bytes", "a .pftrace keeps no allocations: export the trace as JSON"),
)
"""What PyTorch's encoder leaves out: null where no row of a column has a value."""

TORCH_WORDS = ("cpu_op", "user_annotation", "python_function", "cuda_runtime")
"""Categories that PyTorch's encoder writes."""

PROPERTIES = NotRecorded(
    "device_properties", "a .pftrace keeps no properties of devices: export the trace as JSON"
)


def recorder_of(strings: Container[str]) -> str | None:
    """What recorded, by the categories it writes; None where they are nobody's that is known."""
    return "torch.profiler" if any(word in strings for word in TORCH_WORDS) else None


def not_recorded(tables: dict[str, ColumnArrays], recorder: str | None) -> tuple[NotRecorded, ...]:
    """The format's reasons for what is nowhere in the tables of a recording of PyTorch's."""
    if recorder is None:
        return ()
    found = [
        NotRecorded(what, reason)
        for what, table, column, reason in NOT_KEPT
        if not is_present(tables[table][column]).any()
    ]
    category = tables["slices"]["category"]
    if np.isin(category, [int(Category.KERNEL)]).any():
        found.append(PROPERTIES)
    return tuple(found)
