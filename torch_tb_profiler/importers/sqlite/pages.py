"""Pages of a database file, and which of them hold the rows of a table, in order.

Layout: https://www.sqlite.org/fileformat2.html#b_tree_pages. Pages are read, not mapped: a file
that becomes shorter meanwhile gives fewer bytes and no fault.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

Bytes = npt.NDArray[np.uint8]

LEAF, INTERIOR = 0x0D, 0x05
"""Kinds of the pages of a table with row ids."""

INTERIOR_HEAD_BYTES = 12
DEEPEST = 20
"""Levels of a tree; SQLite allows no more."""

LOOKED_AT = 8
"""Pages by which a level of a tree is told: one of them may be damaged."""


class PageFile(NamedTuple):
    """A file of pages, all that another process needs to read them.

    Attributes:
        path: The file.
        page_bytes: Size of a page.
        usable_bytes: Of each page.
        pages: How many there are; they are numbered from 1.
        pages_told: How many there should be.
        is_utf8: Whether its texts are in UTF-8.
    """

    path: str
    page_bytes: int
    usable_bytes: int
    pages: int
    pages_told: int
    is_utf8: bool

    @property
    def size_bytes(self) -> int:
        """Of all pages."""
        return self.pages * self.page_bytes

    def read(self, numbers: Int64, spare_bytes: int = 0) -> Bytes:
        """The pages of these numbers one behind the other, then so many zeros; zeros also for what
        the file lacks.

        Raises:
            OSError: the file cannot be read.
        """
        size = self.page_bytes
        data = np.zeros(len(numbers) * size + spare_bytes, np.uint8)
        view = data.data
        edges = np.flatnonzero(np.diff(numbers) != 1) + 1
        descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            for first, last in zip([0, *edges], [*edges, len(numbers)], strict=True):
                if first < last:
                    file.seek((int(numbers[first]) - 1) * size)
                    _fill(file, view[first * size : last * size])
        return data


def _fill(file: object, target: memoryview) -> None:
    while len(target) and (count := file.readinto(target)):  # type: ignore[attr-defined]
        target = target[count:]


@dataclass(frozen=True, slots=True)
class Leaves:
    """The pages that hold the rows of a table.

    Attributes:
        pages: Their numbers, in the order of the rows.
        damaged: How many pages were left out, with all below them; not those that the file lacks
            because it is cut short.
    """

    pages: Int64
    damaged: int


def leaves_of(file: PageFile, root: int) -> Leaves:
    """The leaves of the table whose tree begins at page ``root``, each once.

    Raises:
        OSError: the file cannot be read.
    """
    seen = np.zeros(file.pages + 1, np.bool_)
    level = np.array([root], np.int64)
    damaged = 0
    for _ in range(DEEPEST):
        level = level[(level < 1) | (level > file.pages_told) | (level <= file.pages)]
        known = level[(level >= 1) & (level <= file.pages)]
        fresh = known[np.sort(np.unique(known, return_index=True)[1])]
        fresh = fresh[~seen[fresh]]
        seen[fresh] = True
        damaged += len(level) - len(fresh)
        if not len(fresh) or _kind(file, fresh) == LEAF:
            return Leaves(fresh, damaged)
        level, wrong = _children(file, fresh)
        damaged += wrong
    return Leaves(np.empty(0, np.int64), damaged + len(level))


def is_table(file: PageFile, root: int) -> bool:
    """Whether the tree at page ``root`` is that of a table with row ids.

    Raises:
        OSError: the file cannot be read.
    """
    if not 1 < root <= file.pages:
        return False
    return int(file.read(np.array([root], np.int64))[0]) in (LEAF, INTERIOR)


def _kind(file: PageFile, level: Int64) -> int:
    """What most of the pages of a level are."""
    picked = level[np.linspace(0, len(level) - 1, min(LOOKED_AT, len(level))).astype(np.int64)]
    kinds = file.read(picked)[:: file.page_bytes]
    return LEAF if (kinds == LEAF).sum() >= (kinds == INTERIOR).sum() else INTERIOR


def _children(file: PageFile, level: Int64) -> tuple[Int64, int]:
    """The pages below those of a level, and how many of these are damaged."""
    children: list[Int64] = []
    damaged = 0
    for number in level:
        page = file.read(np.array([number], np.int64), spare_bytes=4)
        cells = int(page[3]) << 8 | int(page[4])
        end = INTERIOR_HEAD_BYTES + 2 * cells
        if page[0] != INTERIOR or end > file.usable_bytes:
            damaged += 1
            continue
        places = page[INTERIOR_HEAD_BYTES:end].view(">u2").astype(np.int64)
        is_inside = (places >= end) & (places <= file.usable_bytes - 4)
        damaged += int((~is_inside).sum())
        numbers = page[np.append(places[is_inside], 8)[:, None] + np.arange(4)]
        children.append(numbers.view(">u4")[:, 0].astype(np.int64))
    return np.concatenate(children) if children else np.empty(0, np.int64), damaged
