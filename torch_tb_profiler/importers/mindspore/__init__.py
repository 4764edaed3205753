"""MindSpore until 2.3: the files that its profiler wrote into one folder, for MindSpore Insight.

Names end with the number of a device; the files of one device are one trace. The timeline goes
through ``importers.kineto``, all other files become side tables and samples. Format:
``docs/format-mindspore.md``. Nothing outside the importers, ``storage`` and ``trace`` is imported.
"""

from __future__ import annotations

from torch_tb_profiler.importers.mindspore.files import MEMBERS
from torch_tb_profiler.importers.protocol import Importer


def _never(_head: bytes, _name: str) -> bool:
    """Always false: a single file is not a trace."""
    return False


FORMAT = Importer(
    name="mindspore",
    title="a folder with files of MindSpore's profiler",
    label="MindSpore",
    module="torch_tb_profiler.importers.mindspore.reader",
    sniff=_never,
    members=MEMBERS,
)
