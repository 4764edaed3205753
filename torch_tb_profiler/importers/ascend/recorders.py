"""Which of Ascend's tools recorded, and the devices that worked, as far as a timeline tells."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES
from torch_tb_profiler.trace.columns import ABSENT, EventColumns
from torch_tb_profiler.trace.info import DeviceInfo

TORCH_NPU, MINDSPORE, MSPROF = "torch_npu.profiler", "mindspore.Profiler", "msprof"
PROCESSES = {"Python": TORCH_NPU, "MindSpore": MINDSPORE, "CPU OP": MINDSPORE}
FRAMEWORKS = {TORCH_NPU: "PyTorch", MINDSPORE: "MindSpore"}


def recorder_of(columns: EventColumns) -> str:
    """By the process that holds the framework's rows."""
    names = (PROCESSES.get(track.process_name or "") for track in columns.tracks)
    return next(filter(None, names), MSPROF)


def devices_that_worked(columns: EventColumns) -> tuple[DeviceInfo, ...]:
    """Those of kernels and copies. Timelines do not tell models."""
    slices, device = columns.tables["slices"], columns.tables["device"]
    works = np.isin(slices["category"][device["slice"]], [int(c) for c in DEVICE_WORK_CATEGORIES])
    numbers = np.unique(device["device"][works])
    return tuple(DeviceInfo(device=int(n)) for n in numbers if n != ABSENT and n >= 0)
