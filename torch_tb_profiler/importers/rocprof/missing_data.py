"""What a recording of AMD's profilers does not contain, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays
from torch_tb_profiler.trace.info import Capability, DeviceInfo, NotRecorded

NEVER_RECORDED: tuple[tuple[Capability, str], ...] = (
    ("occupancy", "AMD's profilers do not record the occupancy of kernels."),
    ("python", "AMD's profilers do not record Python frames."),
    ("call_stacks", "AMD's profilers do not record call stacks."),
)
"""(kind of data that no file has, the reason)."""

NO_LOADING = (
    "AMD's profilers do not record data loading, and no ROCTx range of a data loader was recorded."
)
NO_DEVICES = "The file does not describe its GPUs."


def not_recorded(
    tables: Mapping[str, ColumnArrays], devices: Sequence[DeviceInfo]
) -> tuple[NotRecorded, ...]:
    """What the tables of a trace lack whatever was recorded."""
    reasons = dict(NEVER_RECORDED)
    if not (tables["slices"]["category"] == Category.DATALOADER).any():
        reasons["data_loading"] = NO_LOADING
    if not devices:
        reasons["device_properties"] = NO_DEVICES
        reasons["blocks_per_sm"] = NO_DEVICES
    return tuple(NotRecorded(capability, reason) for capability, reason in reasons.items())
