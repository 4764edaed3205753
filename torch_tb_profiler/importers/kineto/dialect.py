"""Chrome JSON that others than PyTorch write much like Kineto does, and what is different in it.

A dialect is declared in one object by a package beside this one: a format of its own hands it to
:func:`~torch_tb_profiler.importers.kineto.reader.read`; what only the content of a file tells is
named in :func:`~torch_tb_profiler.importers.kineto.dialects.dialect_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, Int64, Track


def _no_category(_track: Track, _name: str) -> Category | None:
    return None


@dataclass(frozen=True, slots=True)
class Dialect:
    """What tells a dialect, and what it changes.

    Attributes:
        issue: The note of the quality report that says whose file it is.
        is_spoken: Whether a file is written in it, by its header (checked) and its tracks.
        renamed: The name of a slice as others would write it; None where it is the same.
        words: Categories as its files write them, in lower case, that no other file has.
        category: Of a slice whose own is missing or unknown, by the row it stands on and its name;
            None where nothing but the common rules tells it.
        told_again: Rows of slices that the file tells again as a part of others: no work.
        thread: The thread that a row belongs to, where several rows are one.
        has_exact_starts: Whether arguments tell starts to the nanosecond, of which ``ts`` has the
            whole microseconds.
        settle: Given everything that was read, and tables that are none of these (``"tasks"``),
            adds what only the dialect knows, in place.
        recorder: What records it, as ``TraceInfo.recorder`` has it; None where several do.
    """

    issue: str
    is_spoken: Callable[[Mapping[str, Any], Sequence[Track]], bool]
    renamed: Callable[[str], str] | None = None
    words: Mapping[str, Category] = field(default_factory=dict)
    category: Callable[[Track, str], Category | None] = _no_category
    told_again: Callable[[ColumnArrays, Sequence[str], Sequence[Track]], Int64] | None = None
    thread: Callable[[Track], Track] | None = None
    has_exact_starts: bool = False
    recorder: str | None = None
    settle: Callable[[EventColumns, Mapping[str, ColumnArrays]], None] | None = None
