"""Traces of files that tests write."""

from __future__ import annotations

from pathlib import Path

from torch_tb_profiler.importers.registry import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace

CHUNK_BYTES = 1 << 16


def import_path(path: Path) -> EventColumns:
    """The event columns of a file."""
    with path.open("rb") as file:
        chunks = iter(lambda: file.read(CHUNK_BYTES), b"")
        return import_source(Source(path.name, chunks, path=str(path)))


def import_bytes(
    data: bytes, name: str = "x_results.json", chunk: int = CHUNK_BYTES
) -> EventColumns:
    """The event columns of a file that is not on disk, in chunks."""
    return import_source(Source(name, (data[at : at + chunk] for at in range(0, len(data), chunk))))


def open_path(path: Path) -> Trace:
    """The trace of a file."""
    return build_trace(import_path(path))
