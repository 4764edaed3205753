"""MindSpore until 2.3: the files that its profiler wrote into one folder, for MindSpore Insight.

Names end with the number of a device; the files of one device are one trace, as is each of them
alone. The timeline goes through ``importers.kineto``, all other files become side tables and
samples. Format: ``docs/format-mindspore.md``. Nothing outside the importers, ``storage`` and
``trace`` is imported.
"""

from __future__ import annotations

from torch_tb_profiler.importers.mindspore.files import MEMBERS, TIMELINES, kind_of
from torch_tb_profiler.importers.protocol import Importer


def _is_file(head: bytes, name: str) -> bool:
    """Whether a single file is one of the profiler's by its name; timelines must be lists, too."""
    kind = kind_of(name.replace("\\", "/").rpartition("/")[2])
    if kind in TIMELINES:
        return head.lstrip().startswith(b"[")
    return kind is not None and kind != "unread"


FORMAT = Importer(
    name="mindspore",
    title="a folder with files of MindSpore's profiler",
    label="MindSpore",
    module="torch_tb_profiler.importers.mindspore.reader",
    sniff=_is_file,
    members=MEMBERS,
)
