"""Events of the host: Python frames, calls of a device's runtime, operators and ranges."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.importers.xplane.metadata import OPERATION, PlaneMetadata
from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.importers.xplane.stats import NamedStats
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int8, Int32

PYTHON = "$"
"""Names of Python frames begin with it: ``$model.py:12 forward``."""

STEP_NUMBER, CORRELATION, SOURCE = "step_num", "correlation_id", "_src"

_RUNTIME = re.compile(r"(?:cu|cuda|hip)[A-Z]\w*|hsa_\w+")
_TF_OPERATOR = re.compile(r"[^:]+:[A-Z]\w*")
"""``dense/MatMul:MatMul``: name and type of an operator of TensorFlow."""


def metadata_categories(metadata: PlaneMetadata) -> Int8:
    """Per metadata the category by its name, and one more for events without metadata."""
    texts = metadata.names.texts
    by_text = [int(category_of(text)) for text in texts]
    column = np.array([*by_text, Category.HOST_OTHER], np.int8)
    return np.append(column[metadata.shown], np.int8(Category.HOST_OTHER))


def category_of(name: str) -> Category:
    """The category of a host event by its name alone."""
    if name.startswith(PYTHON):
        return Category.PYTHON_FUNCTION
    if _RUNTIME.fullmatch(name):
        return Category.RUNTIME
    if "::" in name:
        return Category.HOST_OTHER  # a function of XLA or of a runtime
    if _TF_OPERATOR.fullmatch(name):
        return Category.OPERATOR
    return Category.ANNOTATION


def event_categories(by_name: Int8, stats: NamedStats, *, has_device_steps: bool) -> Int8:
    """The categories of events, by their names and by what they state.

    Args:
        by_name: The category by the name of each.
        stats: Their values.
        has_device_steps: Whether devices recorded the steps: those of the host are ranges then.
    """
    category: Int8 = by_name.copy()
    category[stats.has(SOURCE) & (category == Category.ANNOTATION)] = Category.HOST_OTHER
    is_host = category != Category.PYTHON_FUNCTION
    category[is_host & stats.has(CORRELATION)] = Category.RUNTIME
    category[is_host & stats.has(OPERATION)] = Category.OPERATOR
    is_step = is_host & stats.has(STEP_NUMBER)
    category[is_step] = Category.ANNOTATION if has_device_steps else Category.STEP
    return category


def step_names(codes: Int32, is_step: Bools, stats: NamedStats, rows: TraceRows) -> Int32:
    """The codes of names, with the number of the step behind those of steps: ``train#3``."""
    numbers = stats.integers(STEP_NUMBER)
    steps = np.flatnonzero(is_step & (numbers != ABSENT))
    if not steps.size:
        return codes
    texts, codes = list(rows.strings), np.array(codes)
    for row in steps.tolist():
        codes[row] = rows.strings[f"{texts[codes[row]]}#{numbers[row]}"]
    return codes


def raw_categories(category: Int8, rows: TraceRows) -> Int32:
    """What the recorder calls events of these categories."""
    frame, other = rows.strings["python"], rows.strings["TraceMe"]
    return np.where(category == Category.PYTHON_FUNCTION, frame, other).astype(np.int32)
