"""The calls of operators that hold device time or counted work, each moment and product once.

Definitions: ``docs/views-efficiency.md#how-it-is-counted``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.efficiency.types import NO_TYPE, peak_types
from torch_tb_profiler.analysis.efficiency.work.call_work import CallWork, call_work
from torch_tb_profiler.analysis.kernels.copies import SET, copy_calls
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.knowledge.formulas import KINDS, formulas
from torch_tb_profiler.trace.columns import Bools, Float64, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NO_KIND = -1
"""Of a call that no formula tells of."""

INSIDE_DEVICE = "DtoD"


class HoldingCalls(Struct, frozen=True, eq=False):
    """Calls that hold something: counted ones, and those outside of all counted ones that launched
    device work themselves. In order of slice id; each kernel, copy and memset is of one at most.

    Attributes:
        row: Place of each in :func:`operator_calls`.
        slice: Its slice.
        start_ns: Its start.
        time_ns: Device time that it holds: of its subtree, without counted calls inside.
        kernels: How many kernels, copies and memsets that is.
        device: The device of the first of them, -1 where there is none.
        flops: Of the call as a whole; NaN where not known.
        needed_flops: Those of them that a kernel must compute: without pairs that a causal mask
            leaves out.
        bytes: Likewise, what it reads and writes.
        stated_flops: FLOPs that the recording states of it; NaN where it does not.
        kind: Place in ``knowledge.formulas.KINDS`` of what it does, or :data:`NO_KIND`.
        peak_type: Place in ``knowledge.peaks.PEAK_TYPES`` of the type whose peak it compares with,
            or ``NO_TYPE``.
        is_product: Whether its FLOPs are of the model.
        is_on_links: Whether more than half of its time is communication or copies between memories:
            the device's own memory does not bound it.
    """

    row: Int64
    slice: Int64
    start_ns: Int64
    time_ns: Int64
    kernels: Int64
    device: Int64
    flops: Float64
    needed_flops: Float64
    bytes: Float64
    stated_flops: Float64
    kind: Int8
    peak_type: Int8
    is_product: Bools
    is_on_links: Bools


@per_trace
def holding_calls(trace: Trace) -> HoldingCalls:
    """The calls of ``trace`` that hold time or work; made once."""
    work, calls = call_work(trace), operator_calls(trace)
    count = calls.height
    holder = work_holders(trace)
    time_ns = _sums(holder, trace.device_work["dur_ns"].to_numpy(), count)
    kernels = _sums(holder, np.ones(len(holder), np.int64), count)
    links = _sums(holder, np.where(_is_on_links(trace), _durations(trace), 0), count)
    is_known = ~(np.isnan(work.flops) & np.isnan(work.bytes))
    has_work = work.is_counted & (is_known | work.is_model)  # unknown products are told of, too
    rows = np.flatnonzero((kernels > 0) | has_work)
    counted = work.is_counted[rows]
    kind = _kinds(work, rows)
    is_product = work.is_model[rows]
    types = peak_types(trace, work, holder, rows, is_product)
    return HoldingCalls(
        row=rows,
        slice=calls["slice"].to_numpy()[rows],
        start_ns=calls["start_ns"].to_numpy()[rows],
        time_ns=time_ns[rows],
        kernels=kernels[rows],
        device=_devices(trace, holder, count)[rows],
        flops=np.where(counted, work.flops[rows], np.nan),
        needed_flops=np.where(counted, (work.flops - work.uncomputed_flops)[rows], np.nan),
        bytes=np.where(counted, work.bytes[rows], np.nan),
        stated_flops=_stated(trace, work)[rows],
        kind=kind,
        peak_type=np.where(counted, types, NO_TYPE).astype(np.int8),
        is_product=is_product,
        is_on_links=2 * links[rows] > time_ns[rows],
    )


@per_trace
def work_holders(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` the call (row of :func:`operator_calls`) that holds it: the
    counted one around it, else the one that launched it; -1 for none."""
    tree, work = call_tree(trace), call_work(trace)
    counted = nearest_marked(tree.parent, work.is_counted)
    holder = np.append(np.where(counted >= 0, counted, np.arange(len(counted))), -1)
    of_work: Int64 = holder[tree.owner]
    return of_work


def _durations(trace: Trace) -> Int64:
    durations: Int64 = trace.device_work["dur_ns"].to_numpy()
    return durations


def _sums(holder: Int64, amounts: Int64, count: int) -> Int64:
    sums = np.zeros(count + 1, np.int64)
    np.add.at(sums, holder, amounts)  # -1 is the last, which nobody has
    return sums[:-1]


def _devices(trace: Trace, holder: Int64, count: int) -> Int64:
    """Per call the device of the first work that it holds."""
    device = np.full(count + 1, -1, np.int64)
    device[holder[::-1]] = indices(trace.device_work["device"])[::-1]
    return device[:-1]


def _is_on_links(trace: Trace) -> Bools:
    """Per row of device work whether it moves data between devices, or device and host."""
    mask: Bools = kernel_kinds(trace).is_communication.copy()
    copies = copy_calls(trace)
    inside = copies["kind"].is_in([SET, INSIDE_DEVICE]).fill_null(True).to_numpy()
    mask[copies["row"].to_numpy()[~inside]] = True
    return mask


def _stated(trace: Trace, work: CallWork) -> Float64:
    """Per call the FLOPs that the recording states of it, or of a call around it: recorders state
    those of ``aten::conv2d``, formulas count those of what it calls at last."""
    stated: Float64 = work.stated_flops.copy()
    is_stated = ~np.isnan(stated)
    outer = nearest_marked(call_tree(trace).parent, is_stated & ~work.is_counted)
    rows = np.flatnonzero(work.is_counted & ~is_stated & (outer >= 0))
    # Of several inside, the first: what is stated of all of them is counted once.
    _, first = np.unique(outer[rows], return_index=True)
    stated[rows[first]] = stated[outer[rows[first]]]
    return stated


def _kinds(work: CallWork, rows: Int64) -> Int8:
    """Per call the place of its kind."""
    kind_by_formula = np.array(
        [*(KINDS.index(formula.kind) for formula in formulas()), NO_KIND], np.int8
    )
    kind: Int8 = kind_by_formula[np.where(work.is_counted[rows], work.formula[rows], -1)]
    return kind
