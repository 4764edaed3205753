"""What was open on a thread at a moment."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.nvtx import NvtxEvents
from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.nesting import Spans, nest


def innermost_open(
    thread: Int64, start_ns: Int64, end_ns: Int64, at_thread: Int64, at_ns: Int64
) -> Int64:
    """Per (thread, time) the row of the innermost of some ranges that was open there, or -1.

    Ranges nest as in :mod:`torch_tb_profiler.trace.nesting`.
    """
    if not len(thread):
        return np.full(len(at_thread), -1, np.int64)
    _, number = distinct(np.concatenate((thread, at_thread)))
    track = number.astype(np.int32)
    own, asked = track[: len(thread)], track[len(thread) :]
    order = np.lexsort((-(end_ns - start_ns), start_ns, own))
    spans = Spans(own[order], start_ns[order], np.maximum(end_ns, start_ns)[order])
    row = nest(spans, np.arange(len(order)), 0).innermost(asked, at_ns)
    return np.append(order, -1)[row]


def call_stacks(ranges: NvtxEvents, tells: Bools, is_nested: Bools, stack_code: Int32) -> Int32:
    """Per range the code of the call stack that the innermost marker of a place around it tells,
    -1 for none.

    Args:
        ranges: The ranges.
        tells: Which are markers of places.
        is_nested: Which nest on their threads.
        stack_code: Codes of the stacks that those tell.
    """
    markers = np.flatnonzero(tells & is_nested)
    if not len(markers):
        return stack_code
    around = innermost_open(
        ranges.global_tid[markers],
        ranges.start_ns[markers],
        ranges.end_ns[markers],
        ranges.global_tid,
        ranges.start_ns,
    )
    found = np.append(stack_code[markers], -1)[around].astype(np.int32)
    return np.where(is_nested & (stack_code < 0), found, stack_code)
