"""Journals of ``torch-tb-profiler record``: the events of a whole run, as lines of JSON.

``reader`` reads a journal file; ``join`` adds the blocks that the recorder appended to a trace of
another format, and is called by ``importers.kineto``. Journals are written by the package
``recorder`` outside the importers, which is not imported. Format: docs/format-record.md.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.names import NamePattern

PLAIN, PACKED = ".record.jsonl", ".record.jsonl.gz"
JOURNAL_KEY = "torch_tb_profiler"
"""Top-level key of the blocks that the recorder appends to a trace of another format."""
WHOLE_RUN = "whole run"

HEADER = re.compile(rb'\{"kind": ?"header", ?"version": ?[0-9]+[,}]')
"""The beginning of the first line of a journal."""


def is_journal(head: bytes, name: str) -> bool:
    """Whether a file is a journal, by its name or by its first line."""
    return name.endswith((PLAIN, PACKED)) or HEADER.match(text_head(head)) is not None


FORMAT = Importer(
    name="record",
    title="journals of torch-tb-profiler record",
    label="Recorder",
    module="torch_tb_profiler.importers.recorder.reader",
    sniff=is_journal,
    files=(
        NamePattern.ending_with(PLAIN, span=WHOLE_RUN),
        NamePattern.ending_with(PACKED, span=WHOLE_RUN),
    ),
    endings=(PLAIN, PACKED),
    replaces=((PACKED, PLAIN),),
)
