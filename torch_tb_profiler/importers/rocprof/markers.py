"""ROCTx ranges and marks as operators, steps and ranges of the program, as NVTX's are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from torch_tb_profiler.importers.nsys.domains import DEFAULT_DOMAIN
from torch_tb_profiler.importers.nsys.nvtx import NvtxEvents
from torch_tb_profiler.importers.nsys.parts import SlicePart, empty_slices
from torch_tb_profiler.importers.nsys.ranges import build_ranges
from torch_tb_profiler.importers.rocprof.assembly import RocprofAssembly
from torch_tb_profiler.importers.rocprof.recording import ProcessRecording
from torch_tb_profiler.trace.columns import ABSENT, Int64


class RoctxDomains:
    """ROCTx has no domains: all ranges are in the default one."""

    label: ClassVar[str] = "roctx"

    def names(self, events: NvtxEvents) -> tuple[list[str], Int64]:
        """The default domain, for all events."""
        return [DEFAULT_DOMAIN], np.zeros(len(events), np.int64)


def read_markers(assembly: RocprofAssembly) -> SlicePart:
    """The ranges and marks of all recordings."""
    parts = [ProcessRecording().take("markers")]
    for number in range(len(assembly.recordings)):
        rows = assembly.take(number, "markers")
        thread = assembly.tracks.thread_numbers(number, rows["pid"], rows["thread"])
        parts.append({**rows, "thread": thread})
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    size = len(rows["start"])
    if not size:
        return SlicePart(empty_slices())
    strings = pl.Series(assembly.texts.strings, dtype=pl.String)
    events = NvtxEvents(
        kind=rows["event_type"],
        start_ns=rows["start"],
        end_ns=np.maximum(rows["end"], rows["start"]),
        global_tid=rows["thread"],
        end_global_tid=np.full(size, ABSENT),
        domain=np.zeros(size, np.int64),
        text=strings.gather(rows["text"]),
        payload=np.full(size, np.nan),
    )
    return build_ranges(events, assembly.texts, assembly.tracks, RoctxDomains(), assembly.quality)
