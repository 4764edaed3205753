"""Discovery with the names of all formats there are."""

from __future__ import annotations

from torch_tb_profiler.importers import tell_head, trace_names
from torch_tb_profiler.storage import discovery
from torch_tb_profiler.storage.discovery import Discovery, Looking, SpanFile
from torch_tb_profiler.storage.finished import FinishedFiles
from torch_tb_profiler.storage.heads import Heads
from torch_tb_profiler.storage.locations import Location


def discover(place: Location, finished: FinishedFiles | None = None) -> Discovery:
    """What a place holds, by names alone."""
    return discovery.discover(place, Looking(trace_names(), finished))


def looked_into(place: Location, *, follows_links: bool = False) -> Discovery:
    """What a place holds, by names and contents."""
    looking = Looking(trace_names(), None, Heads(tell_head), follows_links=follows_links)
    return discovery.discover(place, looking)


def single_file(location: Location) -> SpanFile:
    """The span that a directly named file is."""
    return discovery.single_file(location, trace_names())
