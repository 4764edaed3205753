"""Input formats: one module or package per format; bytes in, event columns out."""

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import import_file, import_trace

__all__ = ["TraceFormatError", "import_file", "import_trace"]
