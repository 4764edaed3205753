"""Files that belong to a run of traces, in their folders: dumps of the job, for example.

A view that reads them (``ViewSpec.accompanied_by``) gets them as further traces; for all others the
run has only its traces.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from torch_tb_profiler.importers.registry import FORMATS
from torch_tb_profiler.loading.opening.neighbours import format_by_head, names_in
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, file_state
from torch_tb_profiler.storage.trace_files import SpanFile


def accompanying_files(files: Collection[SpanFile], formats: Collection[str]) -> Iterator[SpanFile]:
    """The files of some formats in the folders of a run, as files of that run, in the order of
    their names; none of a bucket.

    Args:
        files: The traces of the run and span.
        formats: Names of the formats.
    """
    importers = [each for each in FORMATS if each.name in formats]
    local = [file for file in files if file.location.filesystem is None]
    if not importers or not local:
        return
    own = {file.location.path for file in local}
    for folder, file in _folders(local).items():
        for name in names_in(folder):
            path = os.path.join(folder, name)
            if path in own or not any(each.may_be_named(name) for each in importers):
                continue
            location = replace(
                file.location, url=path, path=path, is_folder=False, variant="", members=()
            )
            other = _as_file(location, name, file, formats)
            if other is not None:
                yield other


def _folders(files: Iterable[SpanFile]) -> dict[str, SpanFile]:
    """The folders of files, each with its first one."""
    folders: dict[str, SpanFile] = {}
    for file in files:
        folders.setdefault(os.path.dirname(file.location.path), file)
    return folders


def _as_file(
    location: Location, name: str, file: SpanFile, formats: Collection[str]
) -> SpanFile | None:
    """A file of the run and span of ``file``; None if it is of no such format."""
    known = format_by_head(location)
    if known not in formats:
        return None
    try:
        state = file_state(location)
    except StorageError:
        return None
    return SpanFile(file.run, name, file.span, location, state, name, None, known)
