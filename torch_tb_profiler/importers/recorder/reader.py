"""Reads one journal: lines in, event columns out, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import numpy as np

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.recorder.info import trace_info
from torch_tb_profiler.importers.recorder.journal import Journal
from torch_tb_profiler.importers.recorder.lines import blocks_of_text
from torch_tb_profiler.importers.recorder.side import side_tables
from torch_tb_profiler.importers.recorder.slices import draw
from torch_tb_profiler.importers.recorder.texts import Texts
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.columns import TABLE_COLUMNS, EventColumns, empty_table
from torch_tb_profiler.trace.quality import QualityReport

FORMAT = "record"
SECOND_NS = 10**9


def read(source: AnySource, reading: Reading) -> EventColumns:
    """The whole run that a journal tells of.

    Raises:
        TraceFormatError: it holds no block.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    assert isinstance(source, Source), "no folder is a journal"
    journal = Journal(QualityReport())
    with closing(source.unpacked()) as unpacked:
        chunks = _followed(unpacked, lambda: reading.progress(source.taken_bytes))
        journal.take(blocks_of_text(utf8(chunks, journal.quality), journal.quality))
    if not journal.blocks:
        raise TraceFormatError(
            "no_events",
            f"{source.name} holds no block of a recorder's journal.",
            "The program ended before anything was recorded, or the file is damaged.",
        )
    return event_columns(journal, source.name.replace("\\", "/").rpartition("/")[2])


def event_columns(journal: Journal, name: str) -> EventColumns:
    """What a journal told, in the form that the trace builder takes.

    Args:
        journal: All of it.
        name: The name of the file.
    """
    journal.quality.add("journal_no_header", int(journal.header is None))
    journal.quality.add("journal_no_end", int(not journal.is_ended))
    base_ns = journal.first_ns() // SECOND_NS * SECOND_NS
    strings: list[str] = []
    texts = Texts(strings)
    drawn = draw(journal, base_ns, texts.code)
    tables = {each: empty_table(each) for each in TABLE_COLUMNS}
    tables["slices"] = drawn.table()
    tables["samples"] = journal.sampled.table(base_ns, texts.code)
    used = np.zeros(len(drawn.tracks), np.bool_)
    used[tables["slices"]["track"]] = True
    tables["slices"]["track"] = (np.cumsum(used) - 1).astype(np.int32)[tables["slices"]["track"]]
    return EventColumns(
        format=FORMAT,
        tables=tables,
        strings=strings,
        tracks=[track for track, is_used in zip(drawn.tracks, used, strict=True) if is_used],
        base_ns=base_ns,
        time_unit_ns=1,
        info=trace_info(journal),
        quality=journal.quality,
        side=side_tables(journal, base_ns, name),
    )


def _followed(chunks: Iterable[bytes], tell: Callable[[], None]) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk
        tell()
