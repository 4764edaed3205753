"""Copies recordings of formats that cannot be rewritten, as Chrome JSON of what the importer reads.

The export has what its viewers know: a format with more than that loses figures. So the copy is
compared with the original in every view, and refused where one differs.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.loading.opening.open_file import open_trace_file
from torch_tb_profiler.reports.chrome_trace import chrome_json
from torch_tb_profiler.scrubbing.same_numbers import first_difference
from torch_tb_profiler.storage.locations import Location
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

ENDING = ".pt.trace.json.gz"


def opened_trace(location: Location) -> Trace:
    """The original.

    Raises:
        OpenError: it cannot be read.
    """
    return open_trace_file(location, None, cache=None).trace


def exported(trace: Trace) -> Iterator[bytes]:
    """The trace as Chrome JSON, which is still to be scrubbed."""
    return chrome_json(trace, Selection())


def lost_figures(trace: Trace, copy: Iterator[bytes], name: str) -> str | None:
    """Where the figures of a copy differ from those of its original; None where none does.

    Raises:
        TraceFormatError: the copy has nothing that can be read.
    """
    return first_difference([trace], [build_trace(import_trace(copy, name=name))])
