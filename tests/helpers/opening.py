"""Opening one file where its state, and who reads its pieces, is not what is tested."""

from __future__ import annotations

from torch_tb_profiler.loading.opening.open_file import Progress, open_trace_file
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import Location
from torch_tb_profiler.trace.model import Trace


def open_file(
    location: Location, *, cache: CacheFolder | None, progress: Progress | None = None
) -> Trace:
    """The trace of one file as it is now."""
    return open_trace_file(location, None, cache=cache, progress=progress).trace
