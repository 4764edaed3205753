"""The communication of one worker: one record per collective call, and when it ran.

A call is one on the host (:mod:`torch_tb_profiler.analysis.communication.calls`) with the kernels
launched from inside it; a kernel outside every call is a record by itself
(``docs/views-distributed.md#what-is-a-call``).

It ran during its kernels; during the host range only where that is the transfer, and no kernel of
its backend is linked to a call.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around, innermost_around_start
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.analysis.communication.calls import host_calls, timed_on_host
from torch_tb_profiler.analysis.communication.metadata import (
    collective_metadata,
    input_bytes,
    kernel_call_name,
    peer_pairs,
)
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

COALESCED, EXCHANGE = "coalesced", "send_recv"
"""Several calls of any kind in one; sends and receives between any ranks."""

PAIRWISE = ("send", "recv")

SAME_SIZE_COLLECTIVES = ("all_reduce", "broadcast", "reduce", "reduce_scatter", "all_gather")
"""Collectives whose members all pass inputs of the same size."""

RECORDS = {
    "record": pl.Int64,  # row number
    "slice": pl.Int64,  # the host range, the metadata record, or the kernel
    "work": pl.Int64,  # slice during which the call ran: its first kernel, else ``slice``
    "name": pl.String,  # name of the host range; of other records the collective
    "collective": pl.String,  # canonical name, null when unknown
    "group": pl.String,  # label of the process group, "0 (default_pg)"; null when not recorded
    "group_key": pl.String,  # equal for all its members; null when not recorded
    "group_size": pl.Int64,
    "sequence": pl.Int64,  # counted by the group; of sends and receives, by each rank for itself
    "comms_id": pl.Int64,  # equal for the calls of one collective; null when not recorded
    "pair": pl.String,  # "0->1" of point-to-point calls, null when the peer is unknown
    "dtype": pl.String,
    "input_bytes": pl.Int64,  # null when unknown, or when such a call moves no data
    "output_bytes": pl.Int64,
    "step": pl.Int32,
    "start_ns": pl.Int64,  # of the call, for its order
}
"""One row per collective call, ordered by start, longer first."""


class Records(Struct, frozen=True, eq=False):
    """The communication of one worker.

    Attributes:
        frame: As :data:`RECORDS`.
        record: Row of ``frame`` each range belongs to, ascending. A record has no range where its
            kernels are not in the recording.
        start_ns: Start of each range; within a record ascending, longer first.
        end_ns: End of each range.
    """

    frame: pl.DataFrame
    record: Int64
    start_ns: Int64
    end_ns: Int64

    def intervals(self) -> Intervals:
        """When any communication ran."""
        return union(self.start_ns, self.end_ns)


@per_split
def records(trace: Trace) -> Records:
    """The communication of a trace."""
    calls = host_calls(trace)
    work = np.flatnonzero(kernel_kinds(trace).is_communication)
    call_of_work = _calls_of_work(trace, calls, work)
    alone = work[call_of_work < 0]
    slice_id = np.concatenate((calls, trace.device_work["slice"].to_numpy()[alone]))
    starts = trace.slices["start_ns"].to_numpy()
    ends = starts + trace.slices["dur_ns"].to_numpy()
    if not len(slice_id):
        none = np.empty(0, np.int64)
        return Records(pl.DataFrame(schema=RECORDS), none, none, none)
    order = np.lexsort((-ends[slice_id], starts[slice_id]))
    row_of_slice = np.full(trace.slices.height, -1, np.int64)
    row_of_slice[slice_id[order]] = np.arange(len(order))
    work_slice = trace.device_work["slice"].to_numpy()[work]
    row_of_work = row_of_slice[np.where(call_of_work >= 0, call_of_work, work_slice)]
    timed = timed_on_host(trace)
    row = np.concatenate((row_of_work, row_of_slice[timed]))
    ran = np.concatenate((work_slice, timed))
    by_record = np.lexsort((-ends[ran], starts[ran], row))
    first_work = np.full(len(order), -1, np.int64)
    first_work[row_of_work[::-1]] = work_slice[::-1]
    return Records(
        _frame(trace, slice_id[order], first_work),
        row[by_record],
        starts[ran][by_record],
        ends[ran][by_record],
    )


def _calls_of_work(trace: Trace, calls: Int64, work: Int64) -> Int64:
    """Per row of device work the call (slice id) it was launched from, -1 for none."""
    launch = indices(trace.device_work["launch"])[work]
    call = innermost_around_start(trace, calls, launch)
    owner = indices(trace.device_work["owner"])[work]
    return np.where(call >= 0, call, innermost_around(trace, calls, owner))


def _frame(trace: Trace, slice_id: Int64, first_work: Int64) -> pl.DataFrame:
    slices = {key: trace.slices[key][slice_id] for key in ("name_code", "step", "start_ns")}
    metadata = collective_metadata(trace)
    described = metadata["slice"].to_numpy()
    source = innermost_around(trace, described, slice_id)
    kernel_described = np.isin(first_work, described)
    source = np.where((source < 0) & kernel_described, first_work, source)
    base = pl.DataFrame({"slice": slice_id, "source": source}).with_columns(
        host_name=codes.texts(trace, slices["name_code"]),
        step=slices["step"],
        start_ns=slices["start_ns"],
        dims_bytes=input_bytes(trace, slice_id),
        pair=peer_pairs(trace, slice_id),
    )
    joined = base.join(metadata, left_on="source", right_on="slice", how="left")
    work_name = np.where(first_work >= 0, trace.slices["name_code"].to_numpy()[first_work], -1)
    exchanges = _exchanges(trace, work_name)
    on_device = np.isin(slice_id, trace.device_work["slice"].to_numpy())
    names, collectives = _names(joined, on_device, exchanges)
    is_pair = pl.col("collective").is_in(PAIRWISE)
    without_data = communication.names_of_size("nothing")
    moves = ~pl.col("collective").is_in(without_data).fill_null(value=False)
    # Every member of these moves data: recorders write 0 where they do not know how much.
    never_empty = (*SAME_SIZE_COLLECTIVES, *PAIRWISE, EXCHANGE, COALESCED)
    not_empty = pl.col("collective").is_in(never_empty).fill_null(value=False)
    frame = joined.with_columns(
        pl.Series("name", names, pl.String), pl.Series("collective", collectives, pl.String)
    ).with_columns(
        record=pl.int_range(pl.len()),
        work=pl.Series(np.where(first_work >= 0, first_work, slice_id)),
        input_bytes=_known(pl.coalesce("in_bytes", "dims_bytes"), moves, not_empty),
        output_bytes=_known(pl.col("out_bytes"), moves, not_empty),
        pair=pl.when(is_pair).then(pl.coalesce("pair", "ranks_pair")),
    )
    return frame.select(pl.col(key).cast(dtype) for key, dtype in RECORDS.items())


def _known(size: pl.Expr, moves: pl.Expr, not_empty: pl.Expr) -> pl.Expr:
    """A size where data moves; null for a 0 that cannot be."""
    return pl.when(moves & ~(not_empty & (size == 0))).then(size)


def _exchanges(trace: Trace, kernel_name: Int64) -> Bools:
    """Which names of kernels (-1 for none) are of sends and receives."""
    names = pl.Series(kernel_name).set(pl.Series(kernel_name) < 0, None)
    return codes.present_names_match(
        trace, names, lambda name: communication.collective(name) == EXCHANGE, absent=False
    )


def _names(
    joined: pl.DataFrame, on_device: Bools, exchanges: Bools
) -> tuple[list[str], list[str | None]]:
    """Name and canonical collective of each record; coalesced calls whose kernel exchanges between
    pairs (the stages of a pipeline) are sends and receives."""
    names, collectives = [], []
    for name, described, device, exchanges_pairs in zip(
        joined["host_name"],
        joined["described"],
        on_device.tolist(),
        exchanges.tolist(),
        strict=True,
    ):
        collective = communication.collective(described or name)
        if collective == COALESCED and exchanges_pairs:
            collective = EXCHANGE
        if communication.is_communication(name):
            shown = name
        elif device:
            shown = kernel_call_name(name, collective)
        else:
            shown = collective or described or name
        names.append(shown)
        collectives.append(collective)
    return names, collectives
