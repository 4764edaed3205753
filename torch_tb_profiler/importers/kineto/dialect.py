"""Dialects: Chrome JSON that other tools write almost like Kineto, and the differences.

The package of a format declares a dialect as one object and passes it to
:func:`~torch_tb_profiler.importers.kineto.reader.read`. A dialect that only the content of a file
reveals is listed in :data:`~torch_tb_profiler.importers.kineto.assemble.DETECTED_DIALECTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64, Track
from torch_tb_profiler.trace.quality import QualityReport


def _no_category(_track: Track, _name: str) -> Category | None:
    return None


class SliceArguments(msgspec.Struct, frozen=True):
    """The decoded arguments of some slices.

    Attributes:
        correlation: Of each slice; :data:`~torch_tb_profiler.trace.columns.ABSENT` without one.
        tables: Name → rows for that table, which may be an extra table of the dialect.
    """

    correlation: Int64
    tables: Mapping[str, ColumnArrays | None]


class ReadSliceArguments(Protocol):
    """Decodes the arguments of slices of one kind. Pure: it may run in any process."""

    def __call__(
        self,
        kind: EventKind,
        raws: list[msgspec.Raw],
        rows: Int64,
        strings: Interner,
        quality: QualityReport,
        /,
    ) -> SliceArguments:
        """Decode ``raws``, the undecoded arguments of the slices ``rows``."""


class ReadMemoryArguments(Protocol):
    """Decodes the arguments of memory instants. Pure: it may run in any process."""

    def __call__(
        self, raws: list[msgspec.Raw], raw_categories: list[Any], quality: QualityReport, /
    ) -> ColumnArrays:
        """Decode the columns of ``memory``, without ``track``, ``time_ns`` and ``is_oom``.

        Args:
            raws: The undecoded arguments.
            raw_categories: Category of each event as in the file.
            quality: Counts wrong values.
        """


class Dialect(msgspec.Struct, frozen=True):
    """What identifies a dialect, and how it differs from Kineto.

    Attributes:
        format: ``EventColumns.format`` of its traces.
        issue: The code of the quality report that names the tool; None without one.
        matches: Whether a file is written in it, by its validated header and its tracks.
        rename: Normalizes the name of a slice; None if names are as Kineto's.
        categories: Its own categories in lower case → category.
        infer_category: The category of a slice without a known one, by its row and name; None
            where the common rules apply.
        duplicate_rows: Rows of slices that the file repeats as parts of others; not work.
        thread_of: The thread of a row, for dialects that write several rows per thread, or labels
            without the number of a device.
        read_slices: Decodes arguments of slices; None if they are as Kineto's.
        read_memory: Decodes arguments of memory events, likewise.
        exact_start_key: The argument with the start in nanoseconds, if ``ts`` has only whole
            microseconds; None without one.
        known_keys: Arguments, in addition to Kineto's, that a trace has columns for.
        extra_tables: Names of tables in addition to those of ``EventColumns``.
        finalize: Completes the event columns in place, given the extra tables.
        recorder: ``TraceInfo.recorder`` of its traces; None if several tools write it.
    """

    issue: str | None
    matches: Callable[[Mapping[str, Any], Sequence[Track]], bool]
    rename: Callable[[str], str] | None = None
    categories: Mapping[str, Category] = msgspec.field(default_factory=dict)
    infer_category: Callable[[Track, str], Category | None] = _no_category
    duplicate_rows: Callable[[ColumnArrays, Sequence[str], Sequence[Track]], Int64] | None = None
    thread_of: Callable[[Track], Track] | None = None
    format: str = "kineto"
    read_slices: ReadSliceArguments | None = None
    read_memory: ReadMemoryArguments | None = None
    exact_start_key: bytes | None = None
    known_keys: frozenset[str] = frozenset()
    extra_tables: tuple[str, ...] = ()
    recorder: str | None = None
    finalize: Callable[[EventColumns, Mapping[str, ColumnArrays]], None] | None = None
