"""FLOPs and bytes of every call of an operator. Definitions: ``docs/flops.md``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import (
    gather,
    indices,
    nearest_marked,
    with_ancestors,
)
from torch_tb_profiler.analysis.efficiency.work.distinct import DistinctCalls, distinct_calls
from torch_tb_profiler.analysis.efficiency.work.external import (
    Columns,
    add_backward,
    add_messages,
    add_served,
)
from torch_tb_profiler.analysis.efficiency.work.outputs import gradient_shapes
from torch_tb_profiler.analysis.efficiency.work.result import Reason, Work
from torch_tb_profiler.analysis.efficiency.work.rules import work_of_texts
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.recording.user_rules import kernel_types
from torch_tb_profiler.knowledge.formulas import MODEL_KINDS, formulas
from torch_tb_profiler.trace.columns import Bools, Float64, Int8, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_RANKS = {"view": 0, "fill": 1, "copy": 2, "indexing": 3, "embedding": 3}
"""A call is counted unless one inside it is of its rank or above: an addition inside a
normalization is part of how that was done, a copy inside a convolution is work beside it."""
_OTHER_RANK, _MODEL_RANK = 4, 5


class CallWork(Struct, frozen=True, eq=False):
    """The work of the calls of ``operator_calls``, row by row; NaN is unknown.

    Attributes:
        flops: Floating point operations of the call as a whole.
        bytes: Bytes it reads and writes.
        uncomputed_flops: Of ``flops``, those that no kernel needs to compute: pairs that a causal
            mask or a window leaves out.
        stated_flops: FLOPs that the recording itself states.
        formula: Place in ``knowledge.formulas.formulas()``, -1 for none.
        reason: Why ``flops`` is unknown, a :class:`Reason`.
        bytes_reason: Why ``bytes`` is unknown, likewise.
        dtype_code: Place of the element type of the main operand in ``dtypes``, -1 for unknown.
        dtypes: Canonical names of element types.
        is_estimated: Whether something was assumed.
        is_stated: Whether ``flops`` or ``bytes`` is what the recording states.
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
    is_stated: Bools
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
    works = _works(trace, distinct)
    dtypes = tuple(sorted({work.dtype for work in works if work.dtype is not None}))
    columns = _gathered(distinct, works, dtypes)
    add_served(trace, distinct, works, columns)
    add_messages(trace, distinct.formula, columns)
    stated_flops = _stated(trace, "flops")
    _add_stated(columns, "flops", "reason", stated_flops)
    _add_stated(columns, "bytes", "bytes_reason", _stated(trace, "bytes"))
    counted = _counted(trace, distinct.formula, columns)
    if add_backward(trace, distinct.formula, columns, counted):
        counted = _counted(trace, distinct.formula, columns)
    return CallWork(
        **columns,
        stated_flops=stated_flops,
        formula=distinct.formula.astype(np.int32),
        dtypes=dtypes,
        is_counted=counted,
        device_ns=_device_times(trace, counted),
    )


def _gathered(distinct: DistinctCalls, works: list[Work], dtypes: tuple[str, ...]) -> Columns:
    """The columns of all calls, from the work of each combination."""
    count, row, number = len(distinct.formula), distinct.row, distinct.number
    dtype_codes = {name: at for at, name in enumerate(dtypes)}
    no_formula = int(Reason.NO_FORMULA)

    def spread(
        values: Sequence[float | None], absent: float, dtype: type[np.generic]
    ) -> npt.NDArray[Any]:
        column = np.full(count, absent, dtype)
        filled = [absent if value is None else value for value in values]
        column[row] = np.array(filled, dtype)[number]
        return column

    return {
        "flops": spread([work.flops for work in works], np.nan, np.float64),
        "bytes": spread([work.bytes for work in works], np.nan, np.float64),
        "uncomputed_flops": spread([_uncomputed(work) for work in works], np.nan, np.float64),
        "reason": spread([work.reason for work in works], no_formula, np.int8),
        "bytes_reason": spread([_bytes_reason(work) for work in works], no_formula, np.int8),
        "dtype_code": spread(
            [dtype_codes.get(work.dtype or "", -1) for work in works], -1, np.int32
        ),
        "is_estimated": spread([work.is_estimated for work in works], 0, np.bool_),
        "is_stated": np.zeros(count, np.bool_),
    }


def _add_stated(columns: Columns, name: str, reason: str, stated: Float64) -> None:
    """What the recording states, where no formula tells it or the formula estimates."""
    has_no_figure = np.isnan(columns[name]) | (columns["is_estimated"] & (name == "bytes"))
    rows = np.flatnonzero(~np.isnan(stated) & has_no_figure)
    columns[name][rows] = stated[rows]
    columns[reason][rows] = Reason.KNOWN
    columns["is_stated"][rows] = True
    if name == "flops":
        columns["uncomputed_flops"][rows] = 0
    else:
        columns["is_estimated"][rows] = False


def _works(trace: Trace, distinct: DistinctCalls) -> list[Work]:
    """The work of each combination."""
    asks = [one.rule == "convolution-backward" for one in formulas()]
    text_keys = (
        "shapes",
        "types",
        "concrete",
        "around",
        "around_types",
        "output",
        "likely",
    )
    gradients: frozenset[tuple[int, ...]] | None = None
    works = []
    for key in distinct.keys.iter_rows(named=True):
        formula = key["formula"]
        needs_gradients = asks[formula] and key["concrete"] < 0
        if needs_gradients and gradients is None:
            gradients = gradient_shapes(trace)
        texts = {name: trace.text(key[name]) for name in text_keys}
        of_key = gradients if needs_gradients else None
        name = str(trace.text(key["name"]))
        kernel = trace.text(key["kernel"])
        dtype = None if kernel is None else next(iter(kernel_types(trace, kernel)), None)
        works.append(work_of_texts(formula, name, **texts, kernel_dtype=dtype, gradients=of_key))
    return works


def _uncomputed(work: Work) -> int | None:
    return None if work.flops is None else work.uncomputed


def _bytes_reason(work: Work) -> Reason:
    return Reason.KNOWN if work.bytes is not None else work.bytes_reason


def _counted(trace: Trace, formula: Int64, columns: Columns) -> Bools:
    """Which calls sums take: those with a figure that have none of their rank or above in them;
    and of the others with a formula the innermost that have no counted one in or around them."""
    parent = call_tree(trace).parent
    known = ~np.isnan(columns["flops"]) | ~np.isnan(columns["bytes"])
    rank = np.array([*(_rank(one.kind) for one in formulas()), _OTHER_RANK])[formula]
    counted = np.zeros(len(rank), np.bool_)
    for each in range(1, _MODEL_RANK + 1):
        counted |= known & (rank == each) & ~_has_inside(parent, known & (rank >= each))
    unknown = ~known & (rank > 0) & (formula >= 0)
    if unknown.any():
        inside = _has_inside(parent, counted | unknown)
        counted |= unknown & ~inside & (nearest_marked(parent, counted) < 0)
    return counted


def _has_inside(parent: Int64, marked: Bools) -> Bools:
    """Per call whether a marked one is inside it."""
    has, around = np.zeros(len(parent), np.bool_), np.zeros(len(parent) + 1, np.bool_)
    around[parent[marked]] = True  # -1 is the last, which is no call
    has[with_ancestors(np.flatnonzero(around[:-1]), parent)] = True
    return has


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
    """Per call what the recording states of it, or else of the kernels that it launched itself;
    NaN for nothing."""
    of_slice = np.full(trace.slices.height, np.nan)
    stated = trace.stated.filter(pl.col(column).is_not_null())
    of_slice[indices(stated["slice"])] = stated[column].to_numpy()
    tree = call_tree(trace)
    values: Float64 = of_slice[tree.slice]
    of_work = of_slice[trace.device_work["slice"].to_numpy()]
    rows = np.flatnonzero(~np.isnan(of_work) & tree.is_own)
    rows = rows[np.isnan(values[tree.owner[rows]])]
    values[tree.owner[rows]] = 0
    np.add.at(values, tree.owner[rows], of_work[rows])
    return values
