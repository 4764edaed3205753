"""Files beside a trace of this machine, joined to it when it is opened.

They are no part of what the cache keeps of the trace: it is kept by its own file's state alone, and
they may come later. Definitions: ``docs/views-compiled.md#files-beside-a-trace``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from torch_tb_profiler.analysis.kernels.compiled.triton import generated_calls
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.importers.sidecars.annotations import SidecarError
from torch_tb_profiler.importers.sidecars.names import (
    CAPTURE_FOLDERS,
    DETAILS,
    SidecarKind,
    batch_of,
    rank_of,
    select_rank,
    sidecar_kind,
)
from torch_tb_profiler.importers.sidecars.read import (
    CaptureDetails,
    TooLargeError,
    read_details,
    read_sidecars,
)
from torch_tb_profiler.storage.decompress import UnpackLimitError, UnpackLimits, decompressed
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, file_state, read_chunks
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import QualityReport

_LOGGER = logging.getLogger(__name__)

MAX_LISTED = 20_000
"""Entries of a folder that are looked at."""

MAX_DETAILS_BYTES = 4 << 20


def with_beside(trace: Trace, location: Location) -> Trace:
    """``trace`` with what the files beside its own tell; itself where there are none, where it is
    not of this machine, or where it has nothing that they tell of."""
    if location.filesystem is not None or location.is_folder:
        return trace
    try:
        around = _Around(location)
        found = around.files()
        wanted = _wanted(trace) if found else set()
        return _joined(trace, around, {kind: found[kind] for kind in wanted & found.keys()})
    except Exception:
        _LOGGER.exception("files beside %s were not read", location.url)
        return trace


def _wanted(trace: Trace) -> set[SidecarKind]:
    """The kinds of files that tell something of what the trace has."""
    wanted: set[SidecarKind] = set()
    if graph_launches(trace).count:
        wanted |= {"annotations", "capture", "provenance"}
    if generated_calls(trace).height:
        wanted.add("provenance")
    return wanted


def _joined(trace: Trace, around: _Around, found: Mapping[SidecarKind, list[str]]) -> Trace:
    job = trace.meta.info.job
    rank = job.rank if job is not None and job.rank is not None else rank_of(around.own_name)
    files = {kind: select_rank(names, rank) for kind, names in found.items()}
    files["capture"] = sorted(
        files.get("capture", ()), key=lambda name: (batch_of(os.path.basename(name)) or 0, name)
    )
    if not any(files.values()):
        return trace
    beside = read_sidecars(files, around.read, around.details(files["capture"]))
    quality = QualityReport(dict(trace.quality.counts), dict(trace.quality.examples))
    quality.merge(beside.quality)
    side = {**trace.side, **{table.name: table for table in beside.tables}}
    return replace(trace, side=side, quality=quality)


class _Around:
    """The folder of a trace and the one above, as far as the trace may be read there."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._folder = os.path.dirname(location.path)
        self.own_name = os.path.basename(location.path)

    def files(self) -> dict[SidecarKind, list[str]]:
        """By kind the names of files, as paths from the folder of the trace."""
        found: dict[SidecarKind, list[str]] = {}
        for name, in_captures in self._names():
            kind = sidecar_kind(os.path.basename(name), in_captures=in_captures)
            is_near = os.path.dirname(name) != os.pardir
            if kind is not None and (kind != "provenance" or is_near) and name != self.own_name:
                found.setdefault(kind, []).append(name)
        return found

    def _names(self) -> Iterator[tuple[str, bool]]:
        for above in ("", os.pardir):
            yield from ((name, False) for name in self._listed(above))
            for folder in CAPTURE_FOLDERS:
                inside = os.path.join(above, folder)
                yield from ((name, True) for name in self._listed(inside))

    def _listed(self, folder: str) -> list[str]:
        try:
            with os.scandir(os.path.join(self._folder, folder)) as entries:
                names = [entry.name for entry, _ in zip(entries, range(MAX_LISTED), strict=False)]
        except OSError:
            return []
        return [os.path.join(folder, name) if folder else name for name in sorted(names)]

    def read(self, name: str, room_bytes: int) -> bytes:
        """The unpacked content of a file.

        Raises:
            SidecarError: it is larger, leads out of what may be read, or cannot be read.
        """
        path = os.path.normpath(os.path.join(self._folder, name))
        place = replace(self._location, url=path, path=path)
        data = bytearray()
        limits = replace(UnpackLimits.from_environment(), max_bytes=float(room_bytes))
        try:
            state = file_state(place)
            for piece in decompressed(read_chunks(place, state=state), limits=limits):
                data += piece
                if len(data) > room_bytes:
                    raise TooLargeError("too large")
        except UnpackLimitError as error:
            raise TooLargeError("too large, unpacked") from error
        except (StorageError, OSError) as error:
            code = getattr(error, "code", type(error).__name__)
            raise SidecarError(f"cannot be read ({code})") from error
        return bytes(data)

    def details(self, captures: list[str]) -> CaptureDetails:
        """What stands beside captures of their batch sizes."""
        known: dict[str, tuple[int | None, str | None]] = {}
        for folder in dict.fromkeys(os.path.dirname(name) for name in captures):
            with suppress(SidecarError):
                known |= read_details(self.read(os.path.join(folder, DETAILS), MAX_DETAILS_BYTES))
        return known
