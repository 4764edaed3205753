"""Input formats: one package per format; a file or folder in, event columns out."""

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import (
    PieceReader,
    Reading,
    ReadOptions,
    read_in_turn,
)
from torch_tb_profiler.importers.registry import (
    detect_format,
    import_source,
    import_trace,
    trace_names,
)
from torch_tb_profiler.importers.source import source_of

__all__ = [
    "PieceReader",
    "ReadOptions",
    "Reading",
    "TraceFormatError",
    "detect_format",
    "import_source",
    "import_trace",
    "read_in_turn",
    "source_of",
    "trace_names",
]
