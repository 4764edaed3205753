"""The files that MindSpore's profiler wrote into one folder until 2.3, for MindSpore Insight.

They carry the number of a device at the end of their names: those of one device are one trace.
"""

from __future__ import annotations

from torch_tb_profiler.importers.mindspore.files import MEMBERS
from torch_tb_profiler.importers.protocol import Importer


def _never(_head: bytes, _name: str) -> bool:
    """No file alone is a trace."""
    return False


FORMAT = Importer(
    name="mindspore",
    title="files of MindSpore's profiler, of one folder",
    label="MindSpore",
    module="torch_tb_profiler.importers.mindspore.reader",
    sniff=_never,
    members=MEMBERS,
)
