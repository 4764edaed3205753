"""Input formats: one package per format; a file or folder in, event columns out."""

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import (
    PieceReader,
    Reading,
    ReadOptions,
    read_in_turn,
)
from torch_tb_profiler.importers.registry import import_source, import_trace, tell_head, trace_names
from torch_tb_profiler.importers.source import source_of

__all__ = [
    "PieceReader",
    "ReadOptions",
    "Reading",
    "TraceFormatError",
    "import_source",
    "import_trace",
    "read_in_turn",
    "source_of",
    "tell_head",
    "trace_names",
]
