"""The files beside a trace as side tables: each within limits, and none ever costs the trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from torch_tb_profiler.importers.sidecars.annotations import SidecarError, read_annotations
from torch_tb_profiler.importers.sidecars.captures import read_capture
from torch_tb_profiler.importers.sidecars.names import SidecarKind, batch_of
from torch_tb_profiler.importers.sidecars.provenance import Known, provenance_frame, read_provenance
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

MAX_FILES = 256
MAX_FILE_BYTES = 64 << 20
"""Of one file, unpacked."""
MAX_ALL_BYTES = 256 << 20
"""Of all files of a trace, unpacked."""

UNREAD, LEFT_OUT = "beside_unread", "beside_left_out"

ReadFile = Callable[[str, int], bytes]
"""The unpacked content of a file by its name, at most so many bytes of it.

Raises BesideError for one that is larger or cannot be read."""

Details = Mapping[str, tuple[int | None, str | None]]
"""Name of a capture → its batch size and mode."""


class TooLargeError(SidecarError):
    """A file that is larger than is read."""


@dataclass(slots=True)
class Sidecars:
    """What stands beside a trace.

    Attributes:
        tables: The side tables.
        quality: What could not be read.
    """

    tables: list[SideTable] = field(default_factory=list)
    quality: QualityReport = field(default_factory=QualityReport)


def read_sidecars(
    files: Mapping[SidecarKind, Sequence[str]], read: ReadFile, details: Details
) -> Sidecars:
    """Read all of them.

    Args:
        files: By kind their names, in the order in which they are read.
        read: Gives their content.
        details: What is known of captures beside their names.
    """
    beside, left = Sidecars(), _Budget(read)
    frames = left.each(files.get("annotations", ()), read_annotations, beside.quality)
    _add(beside, "graph_annotations", frames)
    captures = left.each(
        files.get("capture", ()),
        lambda data, name: _captured(data, name, details),
        beside.quality,
    )
    _add(beside, "captured_kernels", captures)
    known: Known = {}
    told = left.each(
        files.get("provenance", ()), lambda data, _: read_provenance(data, known), beside.quality
    )
    if known:
        _add(beside, "kernel_provenance", {", ".join(told): provenance_frame(known)})
    return beside


class _Budget:
    """Reads files until all of them together are too large."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._left_bytes, self._left_files = MAX_ALL_BYTES, MAX_FILES

    def each(
        self, names: Sequence[str], decode: Callable[[bytes, str], Any], quality: QualityReport
    ) -> dict[str, Any]:
        """Name → what ``decode`` makes of the file, of those that can be read."""
        made: dict[str, Any] = {}
        for name in names:
            room = min(MAX_FILE_BYTES, self._left_bytes)
            if self._left_files <= 0 or room <= 0:
                quality.add(LEFT_OUT, example=name)
                continue
            self._left_files -= 1
            try:
                data = self._read(name, room)
                self._left_bytes -= len(data)
                made[name] = decode(data, name)
            except TooLargeError as error:
                quality.add(LEFT_OUT, example=f"{name}: {error}")
            except SidecarError as error:
                quality.add(UNREAD, example=f"{name}: {error}")
        return made


def _add(beside: Sidecars, table: str, frames: Mapping[str, pl.DataFrame]) -> None:
    frames = {name: frame for name, frame in frames.items() if frame.height}
    if frames:
        source = ", ".join(list(frames)[:3]) + (" …" if len(frames) > 3 else "")
        beside.tables.append(SideTable(table, source, pl.concat(frames.values())))


def _captured(data: bytes, name: str, details: Details) -> pl.DataFrame:
    launches = read_capture(data)
    if not launches:
        raise SidecarError("nothing is launched in it")
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


def read_details(data: bytes) -> Details:
    """What ``execution_details.json`` says: a list of ``{file, batch_size, mode}``; nothing where
    it is something else."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    known: dict[str, tuple[int | None, str | None]] = {}
    for each in told if isinstance(told, list) else ():
        if isinstance(each, dict) and isinstance(each.get("file"), str):
            batch, mode = each.get("batch_size"), each.get("mode")
            is_size = isinstance(batch, int) and not isinstance(batch, bool) and 0 < batch < 2**31
            known[each["file"]] = (
                batch if is_size else None,
                mode[:40] if isinstance(mode, str) else None,
            )
    return known
