"""Capabilities that the format does not record, with the reason."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from torch_tb_profiler.importers.pftrace.details import is_present
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays
from torch_tb_profiler.trace.info import Capability, NotRecorded

UNSUPPORTED: tuple[tuple[Capability, str, str, str], ...] = (
    (
        "shared_memory",
        "device",
        "shared_memory_bytes",
        "a .pftrace has the dynamic shared memory of kernels but not the static one",
    ),
    (
        "occupancy",
        "device",
        "est_achieved_occupancy_pct",
        "a .pftrace has no occupancy estimates",
    ),
    ("blocks_per_sm", "device", "blocks_per_sm", "a .pftrace has no blocks per multiprocessor"),
    ("memory", "memory", "bytes", "a .pftrace has no allocations: export the trace as JSON"),
)
"""What PyTorch's encoder does not write: (capability, table, column, reason). It counts as missing
if no row of the column has a value."""

TORCH_CATEGORIES = ("cpu_op", "user_annotation", "python_function", "cuda_runtime")
"""Categories that PyTorch's encoder writes."""

DEVICE_PROPERTIES = NotRecorded(
    "device_properties", "a .pftrace has no device properties: export the trace as JSON"
)


def recorder_of(strings: Container[str]) -> str | None:
    """The recorder, by the categories that it writes; None if it is unknown."""
    return "torch.profiler" if any(category in strings for category in TORCH_CATEGORIES) else None


def not_recorded(tables: dict[str, ColumnArrays], recorder: str | None) -> tuple[NotRecorded, ...]:
    """The capabilities that a recording of PyTorch's lacks because of its format.

    Args:
        tables: The tables of the trace.
        recorder: From :func:`recorder_of`.
    """
    if recorder is None:
        return ()
    missing = [
        NotRecorded(capability, reason)
        for capability, table, column, reason in UNSUPPORTED
        if not is_present(tables[table][column]).any()
    ]
    category = tables["slices"]["category"]
    if np.isin(category, [int(Category.KERNEL)]).any():
        missing.append(DEVICE_PROPERTIES)
    return tuple(missing)
