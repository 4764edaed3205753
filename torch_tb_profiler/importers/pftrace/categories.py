"""Categories of slices: by their category in the file, their render stage, or their row.

PyTorch's encoder writes Kineto's categories for host slices, none for slices in its rows of GPUs
and overhead, and render stages for device work. rocprofv3 has its own categories (``hip_api``,
``kernel_dispatch``, ``memory_copy``, …).
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, category_of
from torch_tb_profiler.importers.kineto.event_kinds import EventKind, event_kind
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.tracks import OVERHEAD_PROCESS
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import DEVICE_LABEL, Int8, Int32, Track

STAGE_CATEGORIES = {
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "Annotation": "gpu_user_annotation",
    "EventRecord": "graph_event_node",
    "HostNode": "graph_host_node",
}
"""PyTorch's render stages → the categories in its JSON."""

GPU_ROW_CATEGORY = "cuda_sync"
OVERHEAD_ROW_CATEGORY = "overhead"

OTHER_CATEGORIES: dict[str, Category] = {
    "kernel_dispatch": Category.KERNEL,
    "memory_copy": Category.MEMCPY,
    "scratch_memory": Category.DEVICE_OTHER,
    "hsa_api": Category.RUNTIME,
    "hip_api": Category.RUNTIME,
    "hip_runtime_api": Category.RUNTIME,
    "hip_compiler_api": Category.RUNTIME,
    "rccl_api": Category.HOST_OTHER,
    "rocdecode_api": Category.HOST_OTHER,
    "rocjpeg_api": Category.HOST_OTHER,
    "memory_allocation": Category.HOST_OTHER,
    "marker_api": Category.ANNOTATION,
}
"""Categories that Kineto's JSON does not have."""


def assign_stage_categories(raw_category: Int32, stage: Int32, strings: Interner) -> None:
    """Set the raw category of device work by its stage, in place; unknown stages use their name."""
    names = list(strings)
    for code in np.unique(stage[stage >= 0]).tolist():
        raw_category[stage == code] = strings[STAGE_CATEGORIES.get(names[code], names[code])]


def assign_row_categories(
    raw_category: Int32, track: Int32, tracks: list[Track], strings: Interner
) -> None:
    """Set the raw category of slices without one by their row, in place."""
    rows = np.flatnonzero(raw_category < 0)
    for index in np.unique(track[rows]).tolist():
        row = tracks[index]
        if row.process_label is not None and DEVICE_LABEL.match(row.process_label):
            raw_category[rows[track[rows] == index]] = strings[GPU_ROW_CATEGORY]
        elif row.process_label == OVERHEAD_PROCESS:
            raw_category[rows[track[rows] == index]] = strings[OVERHEAD_ROW_CATEGORY]


def categories(raw_category: Int32, strings: list[str]) -> tuple[Int8, Int8]:
    """Category (or :data:`UNKNOWN_CATEGORY`) and kind of each slice."""
    category = np.full(len(strings) + 1, UNKNOWN_CATEGORY, np.int8)
    kind = np.full(len(strings) + 1, int(EventKind.OTHER_SLICE), np.int8)
    for code in np.unique(raw_category[raw_category >= 0]).tolist():
        text = strings[code]
        known = OTHER_CATEGORIES.get(text)
        category[code] = category_of(text) if known is None else int(known)
        kind[code] = int(event_kind("X", text))
        if category[code] == Category.DEVICE_ANNOTATION:
            kind[code] = int(
                EventKind.LINK_SLICE
            )  # as in JSON, which has no device and stream for it
    return category[raw_category], kind[raw_category]
