"""FLOPs and bytes of every call of an operator. Definitions: ``docs/flops.md``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.call_tree import CallTree, call_tree
from torch_tb_profiler.analysis.forests import gather, indices, nearest_marked, with_ancestors
from torch_tb_profiler.analysis.operator_calls import operator_calls
from torch_tb_profiler.analysis.work.distinct import DistinctCalls, distinct_calls
from torch_tb_profiler.analysis.work.result import Reason, Work
from torch_tb_profiler.analysis.work.rules import work_of_texts
from torch_tb_profiler.knowledge.formulas import MODEL_KINDS, formulas
from torch_tb_profiler.trace.columns import Bools, Float64, Int8, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

VIEW = "view"

_RANKS = {"view": 0, "fill": 1, "copy": 2, "indexing": 3, "embedding": 3}
"""A call is counted unless one inside it is of its rank or above: an addition inside a
normalization is part of how that was done, a copy inside a convolution is work beside it."""
_OTHER_RANK, _MODEL_RANK = 4, 5


@dataclass(frozen=True, slots=True, eq=False)
class CallWork:
    """The work of the calls of ``operator_calls``, row by row; NaN is unknown.

    Attributes:
        flops: Floating point operations of the call as a whole.
        bytes: Bytes it reads and writes.
        uncomputed_flops: Of ``flops``, those that no kernel needs to compute: pairs that a causal
            mask or a window leaves out, products across the groups of a convolution.
        stated_flops: FLOPs that the recording itself states.
        formula: Place in ``knowledge.formulas.formulas()``, -1 for none.
        reason: Why ``flops`` is unknown, a :class:`Reason`.
        bytes_reason: Why ``bytes`` is unknown, likewise.
        dtype_code: Place of the element type of the main operand in ``dtypes``, -1 for unknown.
        dtypes: Canonical names of element types.
        is_estimated: Whether something was assumed.
        is_counted: Whether sums take this call: of calls inside one another that do the same work
            it is the innermost.
        device_ns: Device time of a counted call: of all in it, without other counted calls; 0 for
            others.
    """

    flops: Float64
    bytes: Float64
    uncomputed_flops: Float64
    stated_flops: Float64
    formula: Int32
    reason: Int8
    bytes_reason: Int8
    dtype_code: Int32
    dtypes: tuple[str, ...]
    is_estimated: Bools
    is_counted: Bools
    device_ns: Int64

    @property
    def is_model(self) -> Bools:
        """Which rows count as model FLOPs."""
        model = np.array([one.kind in MODEL_KINDS for one in formulas()] + [False])
        is_model: Bools = self.is_counted & model[self.formula]
        return is_model


@per_trace
def call_work(trace: Trace) -> CallWork:
    """The work of the calls of ``trace``; made once."""
    distinct = distinct_calls(trace)
    works = [_work(trace, row) for row in distinct.keys.iter_rows(named=True)]
    count = len(distinct.formula)
    dtypes = tuple(sorted({work.dtype for work in works if work.dtype is not None}))
    place = {name: number for number, name in enumerate(dtypes)}
    flops, size, uncomputed = (np.full(count, np.nan) for _ in range(3))
    reason, bytes_reason = (np.full(count, Reason.NO_FORMULA, np.int8) for _ in range(2))
    dtype_code, estimated = np.full(count, -1, np.int32), np.zeros(count, np.bool_)
    row, number = distinct.row, distinct.number
    flops[row] = _floats([work.flops for work in works])[number]
    size[row] = _floats([work.bytes for work in works])[number]
    uncomputed[row] = _floats([_uncomputed(work) for work in works])[number]
    reason[row] = np.array([work.reason for work in works], np.int8)[number]
    bytes_reason[row] = np.array([_bytes_reason(work) for work in works], np.int8)[number]
    dtype_code[row] = np.array([place.get(work.dtype or "", -1) for work in works], np.int32)[
        number
    ]
    estimated[row] = np.array([work.is_estimated for work in works], np.bool_)[number]
    counted = _counted(call_tree(trace), distinct, ~np.isnan(flops) | ~np.isnan(size))
    return CallWork(
        flops=flops,
        bytes=size,
        uncomputed_flops=uncomputed,
        stated_flops=_stated(trace, "flops"),
        formula=distinct.formula.astype(np.int32),
        reason=reason,
        bytes_reason=bytes_reason,
        dtype_code=dtype_code,
        dtypes=dtypes,
        is_estimated=estimated,
        is_counted=counted,
        device_ns=_device_times(trace, counted),
    )


def _work(trace: Trace, key: dict[str, int]) -> Work:
    """The work of one combination."""
    told = ("shapes", "types", "concrete", "around", "around_types", "output", "kernel")
    texts = {name: trace.text(key[name]) for name in told}
    return work_of_texts(key["formula"], str(trace.text(key["name"])), **texts)


def _floats(values: list[int | None]) -> Float64:
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


def _uncomputed(work: Work) -> int | None:
    return None if work.flops is None else work.uncomputed


def _bytes_reason(work: Work) -> Reason:
    return Reason.KNOWN if work.bytes is not None else work.bytes_reason


def _counted(tree: CallTree, distinct: DistinctCalls, known: Bools) -> Bools:
    """Which calls sums take: those with a figure that have none of their rank or above in them;
    and of the others with a formula the innermost that have no counted one in or around them."""
    ranks = np.array([_rank(one.kind) for one in formulas()] + [0], np.int64)
    rank = ranks[distinct.formula]
    counted = np.zeros(len(rank), np.bool_)
    for each in range(1, _MODEL_RANK + 1):
        inside = tree.parent[known & (rank >= each)]
        covered = np.zeros(len(rank), np.bool_)
        covered[with_ancestors(np.unique(inside[inside >= 0]), tree.parent)] = True
        counted |= known & (rank == each) & ~covered
    unknown = ~known & (rank > 0)
    if unknown.any():
        above = tree.parent[np.flatnonzero(counted | unknown)]
        has_inside = np.zeros(len(rank), np.bool_)
        has_inside[with_ancestors(np.unique(above[above >= 0]), tree.parent)] = True
        counted |= unknown & ~has_inside & (nearest_marked(tree.parent, counted) < 0)
    return counted


def _rank(kind: str) -> int:
    return _MODEL_RANK if kind in MODEL_KINDS else _RANKS.get(kind, _OTHER_RANK)


def _device_times(trace: Trace, counted: Bools) -> Int64:
    """Per call the device time that is its own, as ``device_ns`` has it."""
    tree, times = call_tree(trace), np.zeros(len(counted), np.int64)
    home = gather(nearest_marked(tree.parent, counted), tree.owner)
    rows = np.flatnonzero(home >= 0)
    np.add.at(times, home[rows], trace.device_work["dur_ns"].to_numpy()[rows])
    return times


def _stated(trace: Trace, column: str) -> Float64:
    """Per call what the recording states of it, NaN for nothing."""
    of_slice = np.full(trace.slices.height, np.nan)
    stated = trace.stated.filter(pl.col(column).is_not_null())
    of_slice[indices(stated["slice"])] = stated[column].to_numpy()
    values: Float64 = of_slice[operator_calls(trace)["slice"].to_numpy()]
    return values
