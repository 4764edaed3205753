"""What a walk through a logdir meets, before anybody has said which of it are runs."""

from __future__ import annotations

import os
from dataclasses import dataclass

from torch_tb_profiler.storage.heads import Candidate
from torch_tb_profiler.storage.locations import MEMBERS_MARK, FileState, Location
from torch_tb_profiler.storage.names import TraceName


@dataclass(frozen=True, slots=True)
class SpanFile:
    """One trace (a file, or a folder) in its place: the names of run, worker and span, and its
    state when found. ``path`` is that from the logdir, with ``/`` between parts; ``recorded_s``
    when it was recorded by the stamp in its name, in seconds since 1970, None where it has none;
    ``format`` the name of its format, where its name or its beginning tell."""

    run: str
    worker: str
    span: str
    location: Location
    state: FileState
    path: str = ""
    recorded_s: float | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A trace.

    Attributes:
        folder: Relative to the logdir, ``/`` between parts, empty for the logdir itself.
        location: The file or folder.
        state: What it is now.
        name: Worker and stamp.
    """

    folder: str
    location: Location
    state: FileState
    name: TraceName

    @property
    def path(self) -> str:
        """Its path from the logdir."""
        if self.location.members:
            return f"{self.folder}{MEMBERS_MARK}{self.name.worker}"
        return f"{self.folder}/{self.location.name}" if self.folder else self.location.name


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A file whose name says nothing, and that may be a trace by its ending.

    Attributes:
        folder: As of a :class:`Match`.
        candidate: The file.
        status: Of a file on this machine its ``stat``.
    """

    folder: str
    candidate: Candidate
    status: os.stat_result | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A file that is a trace together with others of its folder.

    Attributes:
        folder: As of a :class:`Match`.
        location: The folder.
        state: What the file is now.
        base_name: Its name.
        name: Whose trace it is a part of.
    """

    folder: str
    location: Location
    state: FileState
    base_name: str
    name: TraceName
