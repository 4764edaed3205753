"""NVTX ranges."""

from __future__ import annotations

from torch_tb_profiler.importers.nsys.names import Names
from torch_tb_profiler.importers.nsys.parts import Part, no_slices
from torch_tb_profiler.importers.nsys.tracks import Tracks
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.quality import QualityReport


def read_ranges(database: Database, names: Names, tracks: Tracks, quality: QualityReport) -> Part:
    """The ranges of an export, with their operator rows, marks as instants and collectives."""
    return Part(no_slices())
