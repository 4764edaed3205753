"""Kernels that convert images between NCHW and NHWC for a convolution library."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.knowledge import operators
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

IMAGES = re.compile("nc(d?)hw|n(d?)hwc|cnhw", re.IGNORECASE)
"""A name that speaks of the layout of images; a transpose that does not may be of anything."""

CONVOLUTIONS = frozenset({"aten-convolution", "backward-convolution"})
"""Rules of ``operators.toml``."""


@per_trace
def layout_conversions(trace: Trace) -> Bools:
    """Per row of ``trace.device_work`` whether it is a layout kernel that names image layouts, or
    one that a convolution launched."""
    work = trace.device_work
    rows = np.flatnonzero(kernel_kinds(trace).is_kernel)
    names = work["name_code"].to_numpy()[rows]
    is_layout = kernel_name_kinds(trace).verdicts(names, lambda kind: kind.kind == "layout")
    rows, names = rows[is_layout == codes.YES], names[is_layout == codes.YES]
    of_images = codes.map_names(trace, names, lambda name: bool(IMAGES.search(name)), np.bool_)
    owner = indices(work["owner"])[rows]
    owned = owner >= 0
    owner_names = trace.slices["name_code"].to_numpy()[owner[owned]]
    of_images[owned] |= codes.map_names(trace, owner_names, _is_convolution, np.bool_)
    found = np.zeros(work.height, np.bool_)
    found[rows[of_images]] = True
    return found


def _is_convolution(name: str) -> bool:
    rule = operators.matching_rule(name)
    return rule is not None and rule.name in CONVOLUTIONS
