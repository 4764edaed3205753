"""Sidecar files next to a local trace, joined to it when it is opened.

They are not part of the cached trace: its cache key depends on its own file only, and sidecars may
be added later. Definitions: ``docs/views-compiled.md#files-beside-a-trace``. Here they are
detected by their names; ``sidecar_reading`` reads them, and is imported where there are some.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

from torch_tb_profiler.importers.sidecars.names import CAPTURE_FOLDERS, SidecarKind, sidecar_kind
from torch_tb_profiler.loading.opening.neighbours import names_in
from torch_tb_profiler.storage.locations import Location
from torch_tb_profiler.trace.model import Trace

_LOGGER = logging.getLogger(__name__)


def add_sidecars(trace: Trace, location: Location) -> Trace:
    """``trace`` with the data of its sidecar files; unchanged if there are none, if it is not
    local, or if it has nothing that they describe."""
    if location.filesystem is not None or location.is_folder:
        return trace
    try:
        by_kind = _files_by_kind(location)
        if not by_kind:
            return trace
        from torch_tb_profiler.loading.opening.sidecar_reading import (  # noqa: PLC0415 - start-up
            join_sidecars,
        )

        return join_sidecars(trace, location, by_kind)
    except Exception:
        _LOGGER.exception("sidecar files of %s were not read", location.url)
        return trace


def _files_by_kind(location: Location) -> dict[SidecarKind, list[str]]:
    """Names of sidecar files by kind, as paths relative to the folder of the trace."""
    own_name = os.path.basename(location.path)
    by_kind: dict[SidecarKind, list[str]] = {}
    for name, in_captures in _names(os.path.dirname(location.path)):
        kind = sidecar_kind(os.path.basename(name), in_captures=in_captures)
        is_near = os.path.dirname(name) != os.pardir
        if kind is not None and (kind != "provenance" or is_near) and name != own_name:
            by_kind.setdefault(kind, []).append(name)
    return by_kind


def _names(folder: str) -> Iterator[tuple[str, bool]]:
    """Names in the folder of a trace and in its parent, and whether each is in a folder of
    captures."""
    for above in ("", os.pardir):
        yield from ((name, False) for name in _listed(folder, above))
        for captures in CAPTURE_FOLDERS:
            yield from ((name, True) for name in _listed(folder, os.path.join(above, captures)))


def _listed(folder: str, inside: str) -> list[str]:
    names = names_in(os.path.join(folder, inside))
    return [os.path.join(inside, name) if inside else name for name in names]
