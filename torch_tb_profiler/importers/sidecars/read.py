"""Sidecar files → side tables; a file that cannot be read is counted, and the others are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct, field

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.sidecars.annotations import SidecarError, read_annotations
from torch_tb_profiler.importers.sidecars.captures import read_capture
from torch_tb_profiler.importers.sidecars.names import SidecarKind, batch_of
from torch_tb_profiler.importers.sidecars.provenance import (
    Provenance,
    provenance_frame,
    read_provenance,
)
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

UNREAD, LEFT_OUT = "beside_unread", "beside_left_out"

ReadFile = Callable[[str, int], bytes]
"""(Name, limit in bytes) → the unpacked content of a file.

Raises SidecarError for one that is larger or cannot be read."""

CaptureDetails = Mapping[str, tuple[int | None, str | None]]
"""Name of a capture → its batch size and mode."""


class TooLargeError(SidecarError):
    """A file exceeds the limit of its size."""


class Sidecars(Struct):
    """The content of the sidecar files of a trace.

    Attributes:
        tables: The side tables.
        quality: Files that could not be read.
    """

    tables: list[SideTable] = field(default_factory=list)
    quality: QualityReport = field(default_factory=QualityReport)


def read_sidecars(
    files: Mapping[SidecarKind, Sequence[str]], read: ReadFile, details: CaptureDetails
) -> Sidecars:
    """Read all sidecar files of a trace.

    Args:
        files: Kind → names, in the order in which they are read.
        read: Returns the content of a file.
        details: Batch size and mode of captures, from :func:`read_details`.
    """
    sidecars, budget = Sidecars(), _Budget(read)
    frames = budget.read_each(files.get("annotations", ()), read_annotations, sidecars.quality)
    _add(sidecars, "graph_annotations", frames)
    captures = budget.read_each(
        files.get("capture", ()),
        lambda data, name: _capture_frame(data, name, details),
        sidecars.quality,
    )
    _add(sidecars, "captured_kernels", captures)
    provenance: Provenance = {}
    contents = budget.read_each(
        files.get("provenance", ()),
        lambda data, _: read_provenance(data, provenance),
        sidecars.quality,
    )
    if provenance:
        _add(sidecars, "kernel_provenance", {", ".join(contents): provenance_frame(provenance)})
    return sidecars


class _Budget:
    """Reads files until the limits of a trace are reached."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._left_bytes = UNLIMITED.count("all_side_file_bytes")
        self._left_files = UNLIMITED.count("side_files")

    def read_each(
        self, names: Sequence[str], decode: Callable[[bytes, str], Any], quality: QualityReport
    ) -> dict[str, Any]:
        """Name → the result of ``decode``, of the files that can be read."""
        results: dict[str, Any] = {}
        for name in names:
            limit = min(UNLIMITED.count("side_file_bytes"), self._left_bytes)
            if self._left_files <= 0 or limit <= 0:
                quality.add(LEFT_OUT, example=name)
                continue
            self._left_files -= 1
            try:
                data = self._read(name, limit)
                self._left_bytes -= len(data)
                results[name] = decode(data, name)
            except TooLargeError as error:
                quality.add(LEFT_OUT, example=f"{name}: {error}")
            except SidecarError as error:
                quality.add(UNREAD, example=f"{name}: {error}")
        return results


def _add(sidecars: Sidecars, table: str, frames: Mapping[str, pl.DataFrame]) -> None:
    frames = {name: frame for name, frame in frames.items() if frame.height}
    if frames:
        source = ", ".join(list(frames)[:3]) + (" …" if len(frames) > 3 else "")
        sidecars.tables.append(SideTable(table, source, pl.concat(frames.values())))


def _capture_frame(data: bytes, name: str, details: CaptureDetails) -> pl.DataFrame:
    launches = read_capture(data)
    if not launches:
        raise SidecarError("it has no launches")
    batch, mode = details.get(name.rpartition("/")[2], (None, None))
    batch = batch_of(name.rpartition("/")[2]) if batch is None else batch
    rows = [
        (
            name,
            each.batch_size if batch is None else batch,
            each.mode or mode,
            each.graph,
            each.kernel,
            each.call,
            each.operator,
            each.module,
            each.shapes,
        )
        for each in launches
    ]
    return pl.DataFrame(rows, SIDE_SCHEMAS["captured_kernels"], orient="row")


def read_details(data: bytes) -> CaptureDetails:
    """Parse ``execution_details.json``, a list of ``{file, batch_size, mode}``; empty if it is
    something else."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    details: dict[str, tuple[int | None, str | None]] = {}
    for each in content if isinstance(content, list) else ():
        if isinstance(each, dict) and isinstance(each.get("file"), str):
            batch, mode = each.get("batch_size"), each.get("mode")
            is_size = isinstance(batch, int) and not isinstance(batch, bool) and 0 < batch < 2**31
            details[each["file"]] = (
                batch if is_size else None,
                mode[:40] if isinstance(mode, str) else None,
            )
    return details
