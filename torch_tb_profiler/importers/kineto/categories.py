"""Kineto's categories and naming conventions → :class:`~.trace.categories.Category`.

Source of the names: Kineto's ``ActivityType`` (``libkineto/src/ActivityType.cpp``) over all
releases since torch 1.8, and what vendors add (docs/inputs.md#categories).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int8, Int32

CATEGORIES: dict[str, Category] = {
    "operator": Category.OPERATOR,
    "cpu_op": Category.OPERATOR,
    "python": Category.PYTHON_OPERATOR,
    "user_annotation": Category.ANNOTATION,
    "python_function": Category.PYTHON_FUNCTION,
    "runtime": Category.RUNTIME,
    "hpu_op": Category.RUNTIME,
    "kernel": Category.KERNEL,
    "mtia_ccp_events": Category.KERNEL,
    "memcpy": Category.MEMCPY,
    "gpu_memcpy": Category.MEMCPY,
    "memset": Category.MEMSET,
    "gpu_memset": Category.MEMSET,
    "gpu_user_annotation": Category.DEVICE_ANNOTATION,
    "cuda_sync": Category.DEVICE_SYNC,
    "cuda_event": Category.DEVICE_SYNC,
    "xpu_sync": Category.DEVICE_SYNC,
    "cuda_profiler_range": Category.DEVICE_OTHER,
    "xpu_scope_profiler": Category.DEVICE_OTHER,
    "mtia_insight": Category.DEVICE_OTHER,
    "hardware_counters": Category.DEVICE_OTHER,
    "graph_event_node": Category.DEVICE_OTHER,
    "graph_host_node": Category.DEVICE_OTHER,
    "collective_comm": Category.HOST_OTHER,
    "external_correlation": Category.HOST_OTHER,
    "overhead": Category.OVERHEAD,
    "trace": Category.SPAN,
}
"""Category in the file, in lower case → :class:`Category`."""

UNKNOWN_CATEGORY = -1
"""A missing or unknown category; it is resolved by track, arguments and name."""

NAMED_RANGES: tuple[tuple[re.Pattern[str], Category], ...] = (
    (re.compile(r"ProfilerStep#\d+"), Category.STEP),
    (re.compile(r"enumerate\(Data(Loader|Pipe)\)#"), Category.DATALOADER),
    (re.compile(r"Optimizer\.(step|zero_grad)"), Category.OPTIMIZER),
)
"""Host ranges that the profiler itself adds (``ProfilerStep#3``, ``Optimizer.step#SGD.step``)."""

NAMED_TASKS: tuple[tuple[re.Pattern[str], Category], ...] = (
    (re.compile(r"event_(wait|record|signal)\b"), Category.DEVICE_SYNC),
    (re.compile(r"dma_request\b"), Category.MEMCPY),
)
"""Tasks of MTIA's command processor, which all have the category ``mtia_ccp_events``."""

RANGE_CATEGORIES = (Category.OPERATOR, Category.ANNOTATION)
"""Categories in which :data:`NAMED_RANGES` occur: torch <= 1.11 wrote user ranges as operators."""

RUNTIME_NAME = re.compile(r"(cuda|cu|hip|ur|ze)[A-Z]")

DEVICE_NAMES: tuple[tuple[re.Pattern[str], Category], ...] = (
    (re.compile("memcpy", re.IGNORECASE), Category.MEMCPY),
    (re.compile("memset", re.IGNORECASE), Category.MEMSET),
)
"""Names of device work other than kernels."""


def category_of(raw: str | None) -> int:
    """The category for the one in the file; :data:`UNKNOWN_CATEGORY` if there is none.

    Host API calls are recognized by their ending, so that new vendors are covered.
    """
    if raw is None:
        return UNKNOWN_CATEGORY
    name = raw.lower()
    if name in CATEGORIES:
        return int(CATEGORIES[name])
    if name.endswith(("_runtime", "_driver")):
        return int(Category.RUNTIME)
    return UNKNOWN_CATEGORY


def range_category(name: str) -> int:
    """STEP, DATALOADER or OPTIMIZER for the ranges that the profiler adds, else unknown."""
    for pattern, category in NAMED_RANGES:
        if pattern.match(name):
            return int(category)
    return UNKNOWN_CATEGORY


def infer_category(name: str, *, on_device: bool) -> Category:
    """The category of a slice that has none: by the kind of its row, then by its name."""
    if on_device:
        return next((c for pattern, c in DEVICE_NAMES if pattern.match(name)), Category.KERNEL)
    return Category.RUNTIME if RUNTIME_NAME.match(name) else Category.OPERATOR


def task_category(name: str) -> int:
    """DEVICE_SYNC or MEMCPY for device tasks that are not kernels, else unknown."""
    for pattern, category in NAMED_TASKS:
        if pattern.match(name):
            return int(category)
    return UNKNOWN_CATEGORY


def refine(category: Int8, name_code: Int32, strings: list[str]) -> None:
    """Refine the categories of the profiler's own ranges and of tasks that are not kernels, in
    place.

    Args:
        category: Category of each slice.
        name_code: Code of its name.
        strings: The names.
    """
    for category_of_name, refined in (
        (range_category, RANGE_CATEGORIES),
        (task_category, (Category.KERNEL,)),
    ):
        _refine(category, name_code, strings, category_of_name, refined)


def _refine(
    category: Int8,
    name_code: Int32,
    strings: list[str],
    category_of_name: Callable[[str], int],
    refined: Sequence[Category],
) -> None:
    rows = np.flatnonzero(np.isin(category, [int(each) for each in refined]))
    codes = name_code[rows]
    by_code = np.full(len(strings), UNKNOWN_CATEGORY, np.int8)
    for code in np.flatnonzero(np.bincount(codes, minlength=len(strings))):
        by_code[code] = category_of_name(strings[code])
    refined_category = by_code[codes]
    is_unknown = refined_category == UNKNOWN_CATEGORY
    category[rows] = np.where(is_unknown, category[rows], refined_category)
