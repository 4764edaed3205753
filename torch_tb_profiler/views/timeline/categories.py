"""Categories of timeline slices: those of the trace model, plus communication and the parts of
merged tracks."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int8
from torch_tb_profiler.trace.model import Trace


class TimelineCategory(Struct, frozen=True):
    """What a slice's category code means."""

    key: str
    title: str


_TITLES = {
    Category.OPERATOR: "Operator",
    Category.PYTHON_OPERATOR: "Python operator",
    Category.ANNOTATION: "User range",
    Category.STEP: "Step",
    Category.DATALOADER: "DataLoader",
    Category.OPTIMIZER: "Optimizer",
    Category.MODULE: "Module",
    Category.PYTHON_FUNCTION: "Python frame",
    Category.RUNTIME: "Runtime",
    Category.KERNEL: "Kernel",
    Category.MEMCPY: "Memcpy",
    Category.MEMSET: "Memset",
    Category.DEVICE_ANNOTATION: "User range on the GPU",
    Category.DEVICE_SYNC: "Synchronization",
    Category.DEVICE_OTHER: "Other device event",
    Category.OVERHEAD: "Profiler overhead",
    Category.SPAN: "Recording",
    Category.HOST_OTHER: "Other host event",
    Category.OTHER_RECORDING: "Other recording",
}

COMMUNICATION = len(Category)
"""Code of a kernel that moves data between devices (``analysis.recording.kernel_kinds``)."""

COMPUTATION = COMMUNICATION + 1
"""Code of the first lane of merged tracks; those of the others follow in their order
(``merged.LANE_TITLES``)."""

GROUP = COMPUTATION + 6
"""Code of a call of a group (``levels.py``), on the host or on a GPU."""

GROUP_BACKWARD = GROUP + 1
"""Code of the backward work of such a call."""

SCOPE = GROUP_BACKWARD + 1
"""Code of a run of operators of one scope (``scopes.py``)."""

CATEGORIES = (
    *(TimelineCategory(category.name.lower(), _TITLES[category]) for category in Category),
    TimelineCategory("communication", "Communication"),
    TimelineCategory("merged_computation", "Computation"),
    TimelineCategory("merged_communication", "Communication"),
    TimelineCategory("merged_overlap", "Overlap"),
    TimelineCategory("merged_exposed", "Exposed communication"),
    TimelineCategory("merged_idle", "Idle"),
    TimelineCategory("merged_copies", "Copies"),
    TimelineCategory("group", "Module or range by level"),
    TimelineCategory("group_backward", "Backward of a module by level"),
    TimelineCategory("scope", "Operators of a scope"),
)
"""Meaning of every code; the code is the place."""


def slice_categories(trace: Trace) -> Int8:
    """The code of every slice."""
    codes: Int8 = trace.slices["category"].to_numpy().copy()
    moving = kernel_kinds(trace).is_communication
    codes[trace.device_work["slice"].to_numpy()[moving]] = COMMUNICATION
    return codes
