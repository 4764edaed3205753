"""The reading of sidecar files, and which of them describe something in a trace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace

from torch_tb_profiler.analysis.kernels.compiled.triton import generated_calls
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.importers.sidecars.annotations import SidecarError
from torch_tb_profiler.importers.sidecars.names import (
    DETAILS,
    SidecarKind,
    batch_of,
    select_rank,
)
from torch_tb_profiler.importers.sidecars.read import (
    CaptureDetails,
    TooLargeError,
    read_details,
    read_sidecars,
)
from torch_tb_profiler.loading.opening.neighbours import rank_of_trace
from torch_tb_profiler.storage.decompress import UnpackLimitError, UnpackLimits, decompressed
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, file_state, read_chunks
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import QualityReport

MAX_DETAILS_BYTES = 4 << 20


def join_sidecars(
    trace: Trace, location: Location, files_by_kind: Mapping[SidecarKind, list[str]]
) -> Trace:
    """``trace`` with the data of those of the files that are of its rank; unchanged if it has
    nothing that they describe.

    Args:
        trace: The trace.
        location: Its file.
        files_by_kind: Sidecar files near it, relative to its folder.
    """
    folders = _SidecarFolders(location)
    by_kind = {kind: files_by_kind[kind] for kind in _wanted(trace) & files_by_kind.keys()}
    rank = rank_of_trace(trace, folders.own_name)
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


def _wanted(trace: Trace) -> set[SidecarKind]:
    """The kinds of files that describe something in the trace."""
    wanted: set[SidecarKind] = set()
    if graph_launches(trace).count:
        wanted |= {"annotations", "capture", "provenance"}
    if generated_calls(trace).height:
        wanted.add("provenance")
    return wanted


class _SidecarFolders:
    """The folder of a trace and its parent, as far as they may be read."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._folder = os.path.dirname(location.path)
        self.own_name = os.path.basename(location.path)

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
