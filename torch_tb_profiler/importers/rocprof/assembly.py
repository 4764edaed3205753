"""What the modules that turn recordings into parts of a trace share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.parts import SliceColumns, SlicePart
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.rocprof.devices import GpuNumbers
from torch_tb_profiler.importers.rocprof.recording import ProcessRecording, Rows
from torch_tb_profiler.importers.rocprof.tracks import RocprofTracks
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

LATEST_NS = 2**62
"""Later times are damage; the difference of two earlier ones does not overflow."""


class RocprofAssembly(Struct, frozen=True):
    """A trace that is being put together.

    Attributes:
        recordings: The recordings; their tables are taken out one after the other.
        texts: The texts of the trace.
        gpus: Numbers of the GPUs.
        tracks: The tracks.
        quality: Counts issues.
    """

    recordings: Sequence[ProcessRecording]
    texts: TextCodes
    gpus: GpuNumbers
    tracks: RocprofTracks
    quality: QualityReport

    def take(self, recording: int, table: str) -> Rows:
        """The rows of a table that have a time; those without are counted."""
        rows = self.recordings[recording].take(table)
        time = rows["time" if "time" in rows else "start"]
        is_timed = (time > 0) & (time < LATEST_NS)
        if is_timed.all():
            return rows
        self.quality.add("event_without_time", int((~is_timed).sum()))
        return {name: values[is_timed] for name, values in rows.items()}


class LinkedPart(Struct, frozen=True):
    """Slices of one recording.

    Attributes:
        recording: Number of the recording.
        part: The slices.
        correlation: The id that device work and the call that launched it share.
    """

    recording: int
    part: SlicePart
    correlation: Int64


def host_slices(assembly: RocprofAssembly, recording: int, rows: Rows) -> SliceColumns:
    """The slices of calls."""
    threads = assembly.tracks.thread_numbers(recording, rows["pid"], rows["thread"])
    return SliceColumns.build(
        category=rows["category"].astype(np.int8),
        raw_category_code=rows["kind"].astype(np.int32),
        name_code=or_unnamed(assembly, rows["name"].astype(np.int32)),
        track=assembly.tracks.thread_tracks(threads),
        start_ns=rows["start"],
        end_ns=end_times(rows),
        correlation=rows["correlation"],
    )


def end_times(rows: Rows) -> Int64:
    """The ends; ``ABSENT`` where there is none, or 0, which the recorder writes for work that did
    not complete."""
    return np.where((rows["end"] > 0) & (rows["end"] < LATEST_NS), rows["end"], ABSENT)


def or_unnamed(assembly: RocprofAssembly, codes: Int32) -> Int32:
    """The codes of names, with that of :data:`UNNAMED` for missing ones, which are counted."""
    is_unnamed = codes < 0
    if not is_unnamed.any():
        return codes
    assembly.quality.add("missing_name", int(is_unnamed.sum()))
    return np.where(is_unnamed, np.int32(assembly.texts.code(UNNAMED)), codes).astype(np.int32)
