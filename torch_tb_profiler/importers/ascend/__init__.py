"""Ascend: profiler folders of torch_npu and MindSpore (one per rank) and timelines of msprof.

A folder holds a timeline and tables as text files, or a SQLite database, which is preferred.
``docs/format-ascend.md`` lists what is read from each. The timeline goes through
``importers.kineto``, the database through ``importers.sqlite``; nothing outside the importers,
``storage`` and ``trace`` is used.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.ascend import file_names
from torch_tb_profiler.importers.kineto import detection
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.format_detection import FormatDetection
from torch_tb_profiler.storage.names import NamePattern

EVENTS = rf"{file_names.TIMELINE.pattern}|{file_names.DATABASE.pattern}|{file_names.TABLES.pattern}"
TIMELINE = re.compile(r"(?:.*[/\\])?(?:trace_view|msprof_[\w.-]*)\.json(?:\.gz)?", re.DOTALL)
SQLITE = b"SQLite format 3\0"
PROCESS = re.compile(rb'"name"\s*:\s*"(?:Ascend Hardware|CANN|HCCL|Overlap Analysis|Step Trace)"')


def is_timeline(head: bytes, name: str) -> bool:
    """Whether a file is a JSON list of events with the name or the first processes of Ascend's."""
    text = text_head(head)
    if not text.startswith(b"["):
        return False
    return TIMELINE.fullmatch(name) is not None or PROCESS.search(text) is not None


def is_database(head: bytes, name: str) -> bool:
    """Whether a file is one of Ascend's databases, copied out of its folder, by its name."""
    base_name = name.replace("\\", "/").rpartition("/")[2]
    return head.startswith(SQLITE) and file_names.DATABASE.fullmatch(base_name) is not None


def sniff(head: bytes, name: str) -> bool:
    """Whether a file is a timeline or a database."""
    return is_timeline(head, name) or is_database(head, name)


def detect(head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
    """Detect what a file that :func:`sniff` accepts holds."""
    return (
        FormatDetection(True)
        if is_database(head, base_name)
        else detection.detect(head, base_name, is_whole)
    )


FORMAT = Importer(
    name="ascend",
    title="folders of Ascend's profilers (…_ascend_pt, …_ascend_ms)",
    label="Ascend",
    module="torch_tb_profiler.importers.ascend.folder",
    sniff=sniff,
    folders=(
        NamePattern(
            "*_ascend_pt, *_ascend_ms",
            re.compile(r"(?P<worker>.+?)(?:_(?P<stamp>[0-9]{8,}))?_ascend_(?:pt|ms)", re.DOTALL),
            contains=re.compile(
                rf"{file_names.OUTPUT}|FRAMEWORK|PROF_.*|profiler_(?:info.*|metadata)\.json|{EVENTS}",
                re.DOTALL,
            ),
        ),
        NamePattern(
            file_names.OUTPUT,
            re.compile(rf"(?P<worker>{file_names.OUTPUT})"),
            contains=re.compile(EVENTS),
        ),
    ),
    endings=(".json", ".json.gz", ".db"),
    detect=detect,
    finder="torch_tb_profiler.importers.ascend.folder",
)
