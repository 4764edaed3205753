"""Discovery with the names of all formats there are."""

from __future__ import annotations

from torch_tb_profiler.importers import trace_names
from torch_tb_profiler.storage import discovery
from torch_tb_profiler.storage.discovery import Discovery, SpanFile
from torch_tb_profiler.storage.finished import FinishedFiles
from torch_tb_profiler.storage.locations import Location


def discover(place: Location, finished: FinishedFiles | None = None) -> Discovery:
    """What a place holds."""
    return discovery.discover(place, trace_names(), finished)


def single_file(location: Location) -> SpanFile:
    """The span that a directly named file is."""
    return discovery.single_file(location, trace_names())
