"""The files and folders that discovery collects in a logdir, before they are grouped into runs."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct

from torch_tb_profiler.storage.format_detection import Candidate
from torch_tb_profiler.storage.locations import (
    MEMBERS_MARK,
    FileState,
    Location,
    combine_states,
    members_location,
)
from torch_tb_profiler.storage.names import TraceName


class SpanFile(Struct, frozen=True):
    """One trace (a file or a folder) with the run, worker and span that it is shown under.

    Attributes:
        run: Name of the run.
        worker: Name of the worker.
        span: Name of the span.
        location: The file or folder.
        state: Its state when it was discovered.
        path: Path relative to the logdir, ``/`` between parts.
        recorded_s: When it was recorded, from the stamp in its name, in seconds since 1970; None
            without a stamp.
        format: Name of its format; None where neither its name nor its content determined it.
    """

    run: str
    worker: str
    span: str
    location: Location
    state: FileState
    path: str = ""
    recorded_s: float | None = None
    format: str | None = None


class NamedTrace(Struct, frozen=True):
    """A trace whose worker and stamp are known.

    Attributes:
        folder: Relative to the logdir, ``/`` between parts, empty for the logdir itself.
        location: The file or folder.
        state: Its current state.
        name: Worker and stamp.
    """

    folder: str
    location: Location
    state: FileState
    name: TraceName

    @property
    def path(self) -> str:
        """Its path relative to the logdir."""
        if self.location.members:
            return f"{self.folder}{MEMBERS_MARK}{self.name.worker}"
        return f"{self.folder}/{self.location.name}" if self.folder else self.location.name


class UnnamedFile(Struct, frozen=True):
    """A file that no name pattern matches, but whose ending allows it to be a trace.

    Attributes:
        folder: As in :class:`NamedTrace`.
        candidate: The file.
        status: Its ``stat`` for a local file, else None.
    """

    folder: str
    candidate: Candidate
    status: os.stat_result | None = None


class MemberFile(Struct, frozen=True):
    """A file that forms one trace together with other files of its folder.

    Attributes:
        folder: As in :class:`NamedTrace`.
        location: The folder.
        state: Current state of the file.
        base_name: Name of the file.
        name: Worker and format of the trace it belongs to.
    """

    folder: str
    location: Location
    state: FileState
    base_name: str
    name: TraceName


def join_member_files(members: Iterable[MemberFile]) -> list[NamedTrace]:
    """Combine member files into one trace per folder, format and worker; a worker that is only
    digits is a rank."""
    traces: dict[tuple[str, str, str], list[MemberFile]] = {}
    for member in members:
        key = (member.folder, member.name.format, member.name.worker)
        traces.setdefault(key, []).append(member)
    return [_joined(worker, files) for (_, _, worker), files in traces.items()]


def _joined(worker: str, files: list[MemberFile]) -> NamedTrace:
    first = files[0]
    name = f"rank{worker}" if worker.isdecimal() else worker
    return NamedTrace(
        first.folder,
        members_location(first.location, name, [file.base_name for file in files]),
        combine_states((file.base_name, file.state) for file in files),
        TraceName(name, None, first.name.format),
    )
