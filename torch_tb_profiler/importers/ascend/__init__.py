"""Ascend's profilers: folders of torch_npu and MindSpore, one per rank, and timelines of msprof.

A folder holds a timeline and tables as text, or a database, which is preferred. What is read of
each stands in ``docs/format-ascend.md``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.kineto.heads import tell
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.names import NamePattern

TIMELINE = re.compile(r"(?:.*[/\\])?(?:trace_view|msprof_[\w.-]*)\.json(?:\.gz)?", re.DOTALL)
PROCESS = re.compile(rb'"name"\s*:\s*"(?:Ascend Hardware|CANN|HCCL|Overlap Analysis)"')


def is_timeline(head: bytes, name: str) -> bool:
    """A list of events, by its name or by the processes that it begins with."""
    text = text_head(head)
    if not text.startswith(b"["):
        return False
    return TIMELINE.fullmatch(name) is not None or PROCESS.search(text) is not None


FORMAT = Importer(
    name="ascend",
    title="folders of Ascend's profilers (…_ascend_pt, …_ascend_ms)",
    label="Ascend",
    module="torch_tb_profiler.importers.ascend.folder",
    sniff=is_timeline,
    folders=(
        NamePattern(
            "*_ascend_pt",
            re.compile(r"(?P<worker>.+?)(?:_(?P<stamp>[0-9]{8,}))?_ascend_(?:pt|ms)", re.DOTALL),
        ),
    ),
    endings=(".json", ".json.gz"),
    tell=tell,
    finder="torch_tb_profiler.importers.ascend.finder",
)
