"""Kernels by their purpose, across operators: attention in separate kernels, layout conversions,
optimizer steps.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices, with_ancestors
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.stream_runs import starts_stream
from torch_tb_profiler.knowledge import operators
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

BATCHED_PRODUCTS = frozenset(
    {"aten::bmm", "aten::bmm.out", "aten::baddbmm", "aten::baddbmm_", "aten::baddbmm.out"}
)
"""The operators that ``matmul`` and ``einsum`` of more than two dimensions call."""

INSIDE = frozenset(
    {
        "softmax",
        "elementwise",
        "copy",
        "concatenation",
        "layout",
        "fill",
        "random",
        "indexing",
        "reduction",
        "quantization",
    }
)
"""Kinds of kernels between the products of attention."""

COMPILED = re.compile(r"^triton_\w*(?<!_log)_softmax")
"""Names of compiled kernels with a fused softmax."""

FALLBACK = "aten::_scaled_dot_product_attention_math"
"""What ``scaled_dot_product_attention`` calls if no fused kernel supports its inputs."""


@per_trace
def eager_attention(trace: Trace) -> Bools:
    """Mask of the rows of ``trace.device_work`` between two batched products with a softmax; False
    if the operators of the products are not recorded."""
    work = trace.device_work
    mask = np.zeros(work.height, np.bool_)
    owned = _owned_by_batched_product(trace)
    if not owned.any():
        return mask
    kinds = kernel_kinds(trace)
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication)
    new_stream = starts_stream(trace, rows)
    names, known = work["name_code"].to_numpy()[rows], kernel_name_kinds(trace)
    softmax = known.verdicts(names, lambda kind: kind.kind == "softmax") == codes.YES
    softmax |= codes.map_names(trace, names, lambda name: bool(COMPILED.search(name)), np.bool_)
    inside = known.verdicts(names, lambda kind: kind.kind in INSIDE) == codes.YES
    batched = owned[rows]
    # A stretch is the kernels between two kernels of other kinds, on one stream.
    is_boundary = ~inside | batched
    stretch = np.cumsum(is_boundary | new_stream)
    opened = batched[np.searchsorted(stretch, stretch)]
    last = np.searchsorted(stretch, stretch, "right")
    after = np.minimum(last, len(rows) - 1) if len(rows) else last
    closed = (last < len(rows)) & ~new_stream[after] & batched[after]
    has_softmax = np.bincount(stretch, softmax & ~is_boundary, len(rows) + 1) > 0
    mask[rows[~is_boundary & opened & closed & has_softmax[stretch]]] = True
    return mask


def _owned_by_batched_product(trace: Trace) -> Bools:
    names = trace.slices["name_code"].to_numpy()
    codes_of = [code for code, text in enumerate(trace.strings) if text in BATCHED_PRODUCTS]
    owner = indices(trace.device_work["owner"])
    owned: Bools = np.isin(gather(names.astype(np.int64), owner), codes_of) & (owner >= 0)
    return owned


def uses_sdpa_fallback(trace: Trace, owners: Int64) -> bool:
    """Whether :data:`FALLBACK` launched any work of these owners (-1: none)."""
    around = with_ancestors(distinct_values(owners[owners >= 0]), indices(trace.slices["parent"]))
    slices = trace.slices[around]
    operators = slices["name_code"].filter(slices["category"] == Category.OPERATOR).unique()
    return any(trace.text(code) == FALLBACK for code in operators)


IMAGES = re.compile("nc(d?)hw|n(d?)hwc|cnhw", re.IGNORECASE)
"""Names with an image layout; other transposes may be of anything."""

CONVOLUTIONS = frozenset({"aten-convolution", "backward-convolution"})
"""Rules of ``operators.toml``."""


@per_trace
def layout_conversions(trace: Trace) -> Bools:
    """Mask of the rows of ``trace.device_work`` that are layout kernels, and name an image layout
    or were launched by a convolution."""
    work = trace.device_work
    rows = np.flatnonzero(kernel_kinds(trace).is_kernel)
    names = work["name_code"].to_numpy()[rows]
    is_layout = kernel_name_kinds(trace).verdicts(names, lambda kind: kind.kind == "layout")
    rows, names = rows[is_layout == codes.YES], names[is_layout == codes.YES]
    converts = codes.map_names(trace, names, lambda name: bool(IMAGES.search(name)), np.bool_)
    owner = indices(work["owner"])[rows]
    owned = owner >= 0
    owner_names = trace.slices["name_code"].to_numpy()[owner[owned]]
    converts[owned] |= codes.map_names(trace, owner_names, _is_convolution, np.bool_)
    mask = np.zeros(work.height, np.bool_)
    mask[rows[converts]] = True
    return mask


def _is_convolution(name: str) -> bool:
    rule = operators.matching_rule(name)
    return rule is not None and rule.name in CONVOLUTIONS


STEP = "Optimizer.step"
"""Prefix of the names of optimizer ranges."""


def optimizer_steps(context: Context) -> pl.DataFrame:
    """The ranges ``Optimizer.step…`` that start in the steps, as rows of ``trace.slices``."""
    ranges = context.ranges_of(Category.OPTIMIZER)
    return ranges.filter(context.texts(ranges["name_code"]).str.starts_with(STEP))


def optimizer_kernels(context: Context) -> pl.DataFrame:
    """The kernels of ``context.kernels`` launched in these ranges (row, slice, name_code, owner,
    start_ns, dur_ns), with ``optimizer``, the id of the range."""
    around = _optimizer_of_work(context.trace)
    inside = around[context.kernels["row"].to_numpy()]
    steps = optimizer_steps(context)["id"].to_numpy()
    chosen = np.flatnonzero(np.isin(inside, steps))
    kernels = context.kernels.select("row", "slice", "name_code", "owner", "start_ns", "dur_ns")
    return kernels[chosen].with_columns(optimizer=pl.Series(inside[chosen]))


@per_trace
def _optimizer_of_work(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` the range ``Optimizer.step…`` around its launch, -1 for
    none."""
    ranges = trace.slices.filter(pl.col("category") == Category.OPTIMIZER)
    names = ranges["name_code"].to_numpy()
    is_step = codes.map_names(trace, names, lambda name: name.startswith(STEP), np.bool_)
    steps = ranges["id"].to_numpy()[is_step]
    launch = indices(trace.device_work["launch"])
    return np.where(launch >= 0, innermost_around_start(trace, steps, launch), -1)
