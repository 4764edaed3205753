"""The Kineto format: Chrome trace JSON of the PyTorch profiler, of every release and device vendor.

Splitting a file into pieces, decoding and repairing events, the header, tables, and assembly into
event columns. Formats that are nearly the same come in as a :class:`~.dialect.Dialect`; whatever
only one of them does stays in the package of that format.
"""

from __future__ import annotations

from torch_tb_profiler.importers.kineto.detection import detect
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.names import NamePattern

JSON_STARTS = (b"{", b"[")


def is_json(head: bytes, _name: str) -> bool:
    """Whether a file may be a JSON object or list; most traces are recognized by nothing else."""
    return text_head(head).startswith(JSON_STARTS)


FORMAT = Importer(
    name="kineto",
    title="PyTorch profiler traces (JSON, plain or gzip)",
    label="PyTorch",
    module="torch_tb_profiler.importers.kineto.reader",
    sniff=is_json,
    files=(
        NamePattern.ending_with(".pt.trace.json"),
        NamePattern.ending_with(".pt.trace.json.gz"),
    ),
    endings=(".json", ".json.gz"),
    detect=detect,
    finder="torch_tb_profiler.importers.kineto.find_event",
    part_module="torch_tb_profiler.importers.kineto.part",
    argument_lister="torch_tb_profiler.importers.kineto.list_arguments",
)
