"""Input formats: a file or folder in, event columns out.

One package per format (``kineto``, ``nsys``, ``pftrace``, …), what several of them share
(``protobuf``, ``sqlite``, ``sidecars``), and in this folder the registry, the contract of a format
and the sources it reads. A module comes in here when more than one format needs it; what one
format needs stays in its package.
"""

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.parts import RecordingPart
from torch_tb_profiler.importers.protocol import (
    PieceIndexStore,
    PieceReader,
    Reading,
    ReadOptions,
    read_sequentially,
)
from torch_tb_profiler.importers.registry import (
    detect_format,
    import_source,
    import_trace,
    trace_names,
)
from torch_tb_profiler.importers.source import source_of

__all__ = [
    "PieceIndexStore",
    "PieceReader",
    "ReadOptions",
    "Reading",
    "RecordingPart",
    "TraceFormatError",
    "detect_format",
    "import_source",
    "import_trace",
    "read_sequentially",
    "source_of",
    "trace_names",
]
