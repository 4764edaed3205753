"""Reads a Perfetto trace in one pass: bytes in, event columns out."""

from __future__ import annotations

from contextlib import closing
from functools import partial

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.pftrace.assemble import assemble
from torch_tb_profiler.importers.pftrace.merge import PacketBatchMerger
from torch_tb_profiler.importers.pftrace.packets import PIECE_BYTES, pieces
from torch_tb_profiler.importers.pftrace.piece import read_piece
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.columns import EventColumns

TABLES_WITH_EVENTS = ("slices", "counters", "instants")


def read(source: AnySource, reading: Reading, piece_bytes: int = PIECE_BYTES) -> EventColumns:
    """Read a Perfetto trace.

    Raises:
        TraceFormatError: it has no complete packet, or no supported events.
        StorageError, OSError: the file cannot be read.
    """
    assert isinstance(source, Source), "a Perfetto trace is a file"
    merger = PacketBatchMerger(requested=reading.requested)
    decode = partial(read_piece, requested=frozenset(reading.options.arguments))
    with closing(source.unpacked()) as unpacked:
        work = pieces(unpacked, piece_bytes, source.name)
        for _, batch in reading.read_pieces(work, decode):
            merger.add(batch)
            reading.progress(source.taken_bytes)
    merger.finish()
    columns = assemble(merger, python_frames=reading.options.python_frames)
    if not any(columns.tables[name]["track"].size for name in TABLES_WITH_EVENTS):
        raise TraceFormatError(
            "not_a_trace",
            f"{source.name} is a Perfetto trace without supported data: it has no track events, no "
            "GPU render stages and no counters.",
            "System traces (ftrace, heap profiles) are not supported: open it in Perfetto.",
        )
    return columns
