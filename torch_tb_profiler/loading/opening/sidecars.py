"""Sidecar files next to a local trace, joined to it when it is opened.

They are not part of the cached trace: its cache key depends on its own file only, and sidecars may
be added later. Definitions: ``docs/views-compiled.md#files-beside-a-trace``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec.structs import replace

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
"""Entries of a folder that are inspected."""

MAX_DETAILS_BYTES = 4 << 20


def add_sidecars(trace: Trace, location: Location) -> Trace:
    """``trace`` with the data of its sidecar files; unchanged if there are none, if it is not
    local, or if it has nothing that they describe."""
    if location.filesystem is not None or location.is_folder:
        return trace
    try:
        folders = _SidecarFolders(location)
        by_kind = folders.files()
        wanted = _wanted(trace) if by_kind else set()
        return _with_sidecars(
            trace, folders, {kind: by_kind[kind] for kind in wanted & by_kind.keys()}
        )
    except Exception:
        _LOGGER.exception("sidecar files of %s were not read", location.url)
        return trace


def _wanted(trace: Trace) -> set[SidecarKind]:
    """The kinds of files that describe something in the trace."""
    wanted: set[SidecarKind] = set()
    if graph_launches(trace).count:
        wanted |= {"annotations", "capture", "provenance"}
    if generated_calls(trace).height:
        wanted.add("provenance")
    return wanted


def _with_sidecars(
    trace: Trace, folders: _SidecarFolders, by_kind: Mapping[SidecarKind, list[str]]
) -> Trace:
    job = trace.meta.info.job
    rank = job.rank if job is not None and job.rank is not None else rank_of(folders.own_name)
    files = {kind: select_rank(names, rank) for kind, names in by_kind.items()}
    files["capture"] = sorted(
        files.get("capture", ()), key=lambda name: (batch_of(os.path.basename(name)) or 0, name)
    )
    if not any(files.values()):
        return trace
    sidecars = read_sidecars(files, folders.read, folders.details(files["capture"]))
    quality = QualityReport(dict(trace.quality.counts), dict(trace.quality.examples))
    quality.merge(sidecars.quality)
    side = {**trace.side, **{table.name: table for table in sidecars.tables}}
    return replace(trace, side=side, quality=quality)


class _SidecarFolders:
    """The folder of a trace and its parent, as far as they may be read."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._folder = os.path.dirname(location.path)
        self.own_name = os.path.basename(location.path)

    def files(self) -> dict[SidecarKind, list[str]]:
        """Names of files by kind, as paths relative to the folder of the trace."""
        by_kind: dict[SidecarKind, list[str]] = {}
        for name, in_captures in self._names():
            kind = sidecar_kind(os.path.basename(name), in_captures=in_captures)
            is_near = os.path.dirname(name) != os.pardir
            if kind is not None and (kind != "provenance" or is_near) and name != self.own_name:
                by_kind.setdefault(kind, []).append(name)
        return by_kind

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
        """The decompressed content of a file.

        Raises:
            SidecarError: it is too large, leads out of the folders that may be read, or cannot be
                read.
        """
        path = os.path.normpath(os.path.join(self._folder, name))
        sidecar = replace(self._location, url=path, path=path)
        data = bytearray()
        limits = replace(UnpackLimits.from_environment(), max_bytes=float(room_bytes))
        try:
            state = file_state(sidecar)
            for piece in decompressed(read_chunks(sidecar, state=state), limits=limits):
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
        """Batch sizes and modes of captures, from the files next to them."""
        known: dict[str, tuple[int | None, str | None]] = {}
        for folder in dict.fromkeys(os.path.dirname(name) for name in captures):
            with suppress(SidecarError):
                known |= read_details(self.read(os.path.join(folder, DETAILS), MAX_DETAILS_BYTES))
        return known
