"""The ranges that were open on a thread at a time."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.nvtx import NvtxEvents
from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.nesting import NestedSpans, nest


def innermost_open(
    thread: Int64, start_ns: Int64, end_ns: Int64, at_thread: Int64, at_ns: Int64
) -> Int64:
    """Per (thread, time) the row of the innermost range that was open there, or -1.

    Ranges nest as in :mod:`torch_tb_profiler.trace.nesting`.
    """
    if not len(thread):
        return np.full(len(at_thread), -1, np.int64)
    _, number = distinct(np.concatenate((thread, at_thread)))
    track = number.astype(np.int32)
    range_track, query_track = track[: len(thread)], track[len(thread) :]
    order = np.lexsort((-(end_ns - start_ns), start_ns, range_track))
    spans = NestedSpans(range_track[order], start_ns[order], np.maximum(end_ns, start_ns)[order])
    row = nest(spans, np.arange(len(order)), 0).innermost(query_track, at_ns)
    return np.append(order, -1)[row]


def call_stacks(
    ranges: NvtxEvents, is_location: Bools, is_nested: Bools, stack_code: Int32
) -> Int32:
    """Per range the code of the call stack of the innermost source location marker around it, -1
    for none.

    Args:
        ranges: The ranges.
        is_location: Whether a range is a source location marker.
        is_nested: Whether a range nests on its thread.
        stack_code: Code of the call stack of each marker.
    """
    markers = np.flatnonzero(is_location & is_nested)
    if not len(markers):
        return stack_code
    enclosing = innermost_open(
        ranges.global_tid[markers],
        ranges.start_ns[markers],
        ranges.end_ns[markers],
        ranges.global_tid,
        ranges.start_ns,
    )
    inherited = np.append(stack_code[markers], -1)[enclosing].astype(np.int32)
    return np.where(is_nested & (stack_code < 0), inherited, stack_code)
