"""Reads a journal to event columns, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.recorder.info import trace_info
from torch_tb_profiler.importers.recorder.journal import JournalData
from torch_tb_profiler.importers.recorder.lines import parse_blocks
from torch_tb_profiler.importers.recorder.side_tables import side_tables
from torch_tb_profiler.importers.recorder.slices import build_slices
from torch_tb_profiler.importers.recorder.values import StringCodes
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.columns import TABLE_COLUMNS, EventColumns, empty_table
from torch_tb_profiler.trace.quality import QualityReport

FORMAT = "record"
SECOND_NS = 10**9


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read the run of a journal.

    Raises:
        TraceFormatError: it has no blocks.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    assert isinstance(source, Source), "journals are files"
    journal = JournalData.empty(QualityReport(), source.budget)
    with closing(source.unpacked()) as unpacked:
        chunks = _with_progress(unpacked, lambda: reading.progress(source.taken_bytes))
        journal.add_blocks(parse_blocks(utf8(chunks, journal.quality), journal.quality))
    if not journal.blocks:
        raise TraceFormatError(
            "no_events",
            f"{source.name} has no blocks of a recorder's journal.",
            "The program ended before anything was recorded, or the file is damaged.",
        )
    return event_columns(journal, source.name.replace("\\", "/").rpartition("/")[2])


def event_columns(journal: JournalData, name: str) -> EventColumns:
    """Convert a journal to event columns.

    Args:
        journal: The journal.
        name: The name of the file.
    """
    journal.quality.add("journal_no_header", int(journal.header is None))
    journal.quality.add("journal_no_end", int(not journal.is_ended))
    base_ns = journal.first_ns() // SECOND_NS * SECOND_NS
    strings: list[str] = []
    texts = StringCodes(strings)
    slices = build_slices(journal, base_ns, texts.code)
    tables = {each: empty_table(each) for each in TABLE_COLUMNS}
    tables["slices"] = slices.table()
    tables["samples"] = journal.samples.table(base_ns, texts.code)
    used = np.zeros(len(slices.tracks), np.bool_)
    used[tables["slices"]["track"]] = True
    tables["slices"]["track"] = (np.cumsum(used) - 1).astype(np.int32)[tables["slices"]["track"]]
    return EventColumns(
        format=FORMAT,
        tables=tables,
        strings=strings,
        tracks=[track for track, is_used in zip(slices.tracks, used, strict=True) if is_used],
        base_ns=base_ns,
        time_unit_ns=1,
        info=trace_info(journal),
        quality=journal.quality,
        side=side_tables(journal, base_ns, name),
    )


def _with_progress(chunks: Iterable[bytes], report_progress: Callable[[], None]) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk
        report_progress()
