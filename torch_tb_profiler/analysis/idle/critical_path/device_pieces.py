"""Device work in a step, and the host calls that waited for it.

Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import running_maximum
from torch_tb_profiler.analysis.idle.critical_path.host_pieces import ThreadIntervals, tracks_of
from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.analysis.idle.waits import waits
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


class DevicePieces(Struct, frozen=True, eq=False):
    """Device work in a step, by chain and time.

    Attributes:
        row: Rows of ``trace.device_work``.
        chain: Chain of each, from 0: its stream; work that overlaps earlier work of its stream is
            a separate chain.
        device: Number of the device.
        start_ns, end_ns: Cut at the edges of the step.
        part: Category of each (:class:`PathPart`).
    """

    row: Int64
    chain: Int64
    device: Int64
    start_ns: Int64
    end_ns: Int64
    part: Int64


def device_pieces(trace: Trace, start_ns: int, end_ns: int) -> DevicePieces:
    """The work of all streams in a step."""
    work = trace.device_work
    begin = work["start_ns"].to_numpy()
    end = begin + work["dur_ns"].to_numpy()
    row = np.flatnonzero((begin < end_ns) & (end > start_ns) & (end > begin))
    device, stream = indices(work["device"][row]), indices(work["stream"][row])
    order = np.lexsort((end[row], begin[row], stream, device))
    row, device, stream = row[order], device[order], stream[order]
    is_new = (device[1:] != device[:-1]) | (stream[1:] != stream[:-1])
    group = np.cumsum(np.append(0, is_new))[: len(row)]
    chain = _chains(group, begin[row], end[row])
    order = np.argsort(chain, kind="stable")
    row = row[order]
    kinds = kernel_kinds(trace)
    part = np.where(kinds.is_kernel[row], PathPart.COMPUTE, PathPart.COPY).astype(np.int64)
    part[kinds.is_communication[row]] = PathPart.COMMUNICATION
    return DevicePieces(
        row,
        chain[order],
        device[order],
        np.maximum(begin[row], start_ns),
        np.minimum(end[row], end_ns),
        part,
    )


def _chains(group: Int64, begin: Int64, end: Int64) -> Int64:
    """The chain of each piece of work, in order of group and start."""
    if not len(group):
        return group
    reach = running_maximum(group, end)
    opens = np.append(True, group[1:] != group[:-1])
    overlaps = ~opens & (begin < np.append(begin[:1], reach[:-1]))
    chain: Int64 = group.copy()
    chain[overlaps] = int(group[-1]) + 1 + np.arange(np.count_nonzero(overlaps))
    return chain


class SyncReturns(Struct, frozen=True, eq=False):
    """Synchronizing calls that returned after device work had ended.

    Attributes:
        waited: When each waited.
        row: Row of ``trace.device_work`` of the work each waited for.
    """

    waited: ThreadIntervals
    row: Int64


def sync_returns(trace: Trace, pieces: DevicePieces, start_ns: int, end_ns: int) -> SyncReturns:
    """The calls of a step that waited for device work: for a copy that they launched themselves,
    else for the last work that ended during the call."""
    calls = waits(trace)
    begin, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    inside = (begin < end_ns) & (end > start_ns)
    ids, begin, end = calls["id"].to_numpy()[inside], begin[inside], end[inside]
    row = pieces.row
    work = trace.device_work
    ended = work["start_ns"].to_numpy()[row] + work["dur_ns"].to_numpy()[row]
    launch = indices(work["launch"][row])
    order = np.argsort(ended, kind="stable")
    last = np.searchsorted(ended[order], end, "right") - 1
    own_order = np.lexsort((ended, launch))
    own = np.searchsorted(launch[own_order], ids, "right") - 1
    own_piece = own_order[np.maximum(own, 0)] if len(row) else own
    piece = np.where(last >= 0, order[np.maximum(last, 0)] if len(row) else -1, -1)
    if len(row):
        is_own = (own >= 0) & (launch[own_piece] == ids) & (ended[own_piece] <= end)
        piece = np.where(is_own, own_piece, piece)
        moment = np.where(piece >= 0, ended[piece], -1)
    else:
        moment = np.full(len(ids), -1, np.int64)
    known = (piece >= 0) & (moment > np.maximum(begin, start_ns)) & (moment <= end_ns)
    waited = ThreadIntervals(tracks_of(trace, ids[known]), begin[known], moment[known])
    return SyncReturns(waited, row[piece[known]] if len(row) else piece[known])
