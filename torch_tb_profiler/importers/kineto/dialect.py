"""Chrome JSON that others than PyTorch write much like Kineto does, and what is different in it.

A dialect is declared in one object by a package beside this one: a format of its own hands it to
:func:`~torch_tb_profiler.importers.kineto.reader.read`; what only the content of a file tells is
named in :func:`~torch_tb_profiler.importers.kineto.dialects.dialect_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64, Track
from torch_tb_profiler.trace.quality import QualityReport


def _no_category(_track: Track, _name: str) -> Category | None:
    return None


@dataclass(frozen=True, slots=True)
class SliceArguments:
    """What the arguments of some slices say.

    Attributes:
        correlation: Of each, :data:`~torch_tb_profiler.trace.columns.ABSENT` without one.
        tables: Name → what they add to that table, or to one that only the dialect knows.
    """

    correlation: Int64
    tables: Mapping[str, ColumnArrays | None]


class ReadSliceArguments(Protocol):
    """Reads the arguments of slices of one kind. Pure: called in any process."""

    def __call__(
        self,
        kind: EventKind,
        raws: list[msgspec.Raw],
        rows: Int64,
        strings: Interner,
        quality: QualityReport,
        /,
    ) -> SliceArguments:
        """What the undecoded arguments ``raws`` of the slices ``rows`` say."""


class ReadMemoryArguments(Protocol):
    """Reads the arguments of memory instants. Pure: called in any process."""

    def __call__(
        self, raws: list[msgspec.Raw], words: list[Any], quality: QualityReport, /
    ) -> ColumnArrays:
        """Their columns of ``memory`` but track, time and whether memory ran out; ``words`` are
        their categories as the file has them."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What tells a dialect, and what it changes.

    Attributes:
        format: ``EventColumns.format`` of its traces.
        issue: The note of the quality report that says whose file it is; None: there is none.
        is_spoken: Whether a file is written in it, by its header (checked) and its tracks.
        renamed: The name of a slice as others would write it; None where it is the same.
        words: Categories as its files write them, in lower case, that no other file has.
        category: Of a slice whose own is missing or unknown, by the row it stands on and its name;
            None where nothing but the common rules tells it.
        told_again: Rows of slices that the file tells again as a part of others: no work.
        thread: The thread that a row belongs to, where several rows are one.
        read_slices: Reads arguments of slices; None: they are as Kineto writes them.
        read_memory: Reads arguments of memory events, likewise.
        start_key: The argument that tells starts to the nanosecond, of which ``ts`` has the whole
            microseconds; None without one.
        known_keys: Arguments, beside Kineto's, that a trace has columns for.
        own_tables: Names of tables that are none of ``EventColumns``.
        settle: Given everything that was read, and those tables, adds what only the dialect knows,
            in place.
        recorder: What records it, as ``TraceInfo.recorder`` has it; None where several do.
    """

    issue: str | None
    is_spoken: Callable[[Mapping[str, Any], Sequence[Track]], bool]
    renamed: Callable[[str], str] | None = None
    words: Mapping[str, Category] = field(default_factory=dict)
    category: Callable[[Track, str], Category | None] = _no_category
    told_again: Callable[[ColumnArrays, Sequence[str], Sequence[Track]], Int64] | None = None
    thread: Callable[[Track], Track] | None = None
    format: str = "kineto"
    read_slices: ReadSliceArguments | None = None
    read_memory: ReadMemoryArguments | None = None
    start_key: bytes | None = None
    known_keys: frozenset[str] = frozenset()
    own_tables: tuple[str, ...] = ()
    recorder: str | None = None
    settle: Callable[[EventColumns, Mapping[str, ColumnArrays]], None] | None = None
