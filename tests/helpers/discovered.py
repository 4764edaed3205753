"""Discovery with the names of all formats there are."""

from __future__ import annotations

from torch_tb_profiler.importers import detect_format, trace_names
from torch_tb_profiler.storage import discovery
from torch_tb_profiler.storage.discovery import Discovery, DiscoveryOptions, SpanFile
from torch_tb_profiler.storage.file_completeness import CompletenessTracker
from torch_tb_profiler.storage.format_detection import FormatScanner
from torch_tb_profiler.storage.locations import Location


def discover(place: Location, finished: CompletenessTracker | None = None) -> Discovery:
    """What a place holds, by names alone."""
    return discovery.discover(place, DiscoveryOptions(trace_names(), finished))


def looked_into(place: Location, *, follows_links: bool = False) -> Discovery:
    """What a place holds, by names and contents."""
    looking = DiscoveryOptions(
        trace_names(), None, FormatScanner(detect_format), follows_links=follows_links
    )
    return discovery.discover(place, looking)


def file_as_span(location: Location) -> SpanFile:
    """The span that a directly named file is."""
    return discovery.file_as_span(location, trace_names())
