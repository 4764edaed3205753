"""Kernels of attention that runs operator by operator: what stands between two batched products.

Attention without a fused kernel is a batched product (queries and keys), scaling and mask,
softmax, maybe dropout, and a batched product (with the values); its gradient is the same
backwards. A softmax that is a loss, a router or a sampler stands between other neighbours.
"""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices, with_ancestors
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.evidence.stream_runs import begins_stream
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

BATCHED_PRODUCTS = frozenset(
    {"aten::bmm", "aten::bmm.out", "aten::baddbmm", "aten::baddbmm_", "aten::baddbmm.out"}
)
"""What ``matmul`` and ``einsum`` of more than two dimensions end in."""

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
"""Kinds of kernels that attention has between its products."""

COMPILED = re.compile(r"^triton_\w*(?<!_log)_softmax")
"""Names of compiled kernels that a softmax is fused into."""

FALLBACK = "aten::_scaled_dot_product_attention_math"
"""``scaled_dot_product_attention`` where it found no fused kernel for what it was given."""


@per_trace
def eager_attention(trace: Trace) -> Bools:
    """Per row of ``trace.device_work`` whether it stands between two batched products with a
    softmax; False where no operator is known to have launched the products."""
    work = trace.device_work
    kinds = kernel_kinds(trace)
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication)
    new_stream = begins_stream(trace, rows)
    names, known = work["name_code"].to_numpy()[rows], kernel_name_kinds(trace)
    softmax = known.verdicts(names, lambda kind: kind.kind == "softmax") == codes.YES
    softmax |= codes.map_names(trace, names, lambda name: bool(COMPILED.search(name)), np.bool_)
    inside = known.verdicts(names, lambda kind: kind.kind in INSIDE) == codes.YES
    batched = _owned_by_batched_product(trace)[rows]
    # A stretch is what lies between two kernels that are not inside, on one stream.
    border = ~inside | batched
    stretch = np.cumsum(border | new_stream)
    opened = batched[np.searchsorted(stretch, stretch)]
    last = np.searchsorted(stretch, stretch, "right")
    after = np.minimum(last, len(rows) - 1) if len(rows) else last
    closed = (last < len(rows)) & ~new_stream[after] & batched[after]
    has_softmax = np.bincount(stretch, softmax & ~border, len(rows) + 1) > 0
    found = np.zeros(work.height, np.bool_)
    found[rows[~border & opened & closed & has_softmax[stretch]]] = True
    return found


def _owned_by_batched_product(trace: Trace) -> Bools:
    names = trace.slices["name_code"].to_numpy()
    codes_of = [code for code, text in enumerate(trace.strings) if text in BATCHED_PRODUCTS]
    owner = indices(trace.device_work["owner"])
    owned: Bools = np.isin(gather(names.astype(np.int64), owner), codes_of) & (owner >= 0)
    return owned


def is_fallback(trace: Trace, owners: Int64) -> bool:
    """Whether :data:`FALLBACK` launched any of the work of these owners (-1: none)."""
    around = with_ancestors(np.unique(owners[owners >= 0]), indices(trace.slices["parent"]))
    slices = trace.slices[around]
    operators = slices["name_code"].filter(slices["category"] == Category.OPERATOR).unique()
    return any(trace.text(code) == FALLBACK for code in operators)
