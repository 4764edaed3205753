"""The neighbours of a local trace in its folder: their names, ranks and formats."""

from __future__ import annotations

import os

from msgspec.structs import replace

from torch_tb_profiler.importers import detect_format
from torch_tb_profiler.importers.sidecars.names import rank_of
from torch_tb_profiler.storage.decompress import UnpackLimitError, decompressed
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.format_detection import HEAD_BYTES
from torch_tb_profiler.storage.locations import Location, file_state, read_chunks
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import QualityReport

MAX_LISTED = 20_000
"""Entries of a folder that are inspected."""


def names_in(folder: str) -> list[str]:
    """The names in a folder, sorted; none if it cannot be listed."""
    try:
        with os.scandir(folder or os.curdir) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_LISTED), strict=False)]
    except OSError:
        return []
    return sorted(names)


def rank_of_trace(trace: Trace, base_name: str) -> int | None:
    """The rank that a trace states, else that in its name; None without one."""
    job = trace.meta.info.job
    return job.rank if job is not None and job.rank is not None else rank_of(base_name)


def format_by_head(location: Location) -> str | None:
    """The name of the format that a file begins as; None if it is no trace or cannot be read."""
    head = bytearray()
    try:
        state = file_state(location)
        for piece in decompressed(read_chunks(location, state=state)):
            head += piece
            if len(head) >= HEAD_BYTES:
                break
    except (UnpackLimitError, StorageError, OSError):
        return None
    detected = detect_format(bytes(head), location.name, len(head) < HEAD_BYTES)
    return detected.format if detected.is_trace else None


def noted(trace: Trace, code: str, text: str) -> Trace:
    """``trace`` with one more quality note, which has ``text`` as an example."""
    quality = QualityReport(dict(trace.quality.counts), dict(trace.quality.examples))
    quality.add(code, example=text)
    return replace(trace, quality=quality)
