"""Pages of a database file: the leaves with the rows of a table, in order, and overflow chains.

Layout: https://www.sqlite.org/fileformat2.html#b_tree_pages. Pages are read instead of mapped: a
file that is truncated meanwhile yields fewer bytes and no fault.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.trace.columns import Int64

Bytes = npt.NDArray[np.uint8]

LEAF, INTERIOR = 0x0D, 0x05
"""Page types of a table with row ids."""

INTERIOR_HEAD_BYTES = 12
MAX_DEPTH = 20
"""Most levels that SQLite allows in a tree."""

READ_BYTES = 4 << 20
"""Pages of an inner level that are read at once."""

SAMPLED_PAGES = 8
"""Number of pages that decide the type of a tree level; some of them may be damaged."""


class PageFile(NamedTuple):
    """A file of pages, with everything another process needs to read them.

    Attributes:
        path: The file.
        page_bytes: Size of a page.
        usable_bytes: Usable size of a page.
        pages: Number of pages in the file; page numbers start at 1.
        declared_pages: Number of pages according to the header.
        is_utf8: Whether its texts are UTF-8.
    """

    path: str
    page_bytes: int
    usable_bytes: int
    pages: int
    declared_pages: int
    is_utf8: bool

    @property
    def size_bytes(self) -> int:
        """Size of all pages."""
        return self.pages * self.page_bytes

    def read(self, numbers: Int64, spare_bytes: int = 0) -> Bytes:
        """The pages with these numbers, concatenated, then ``spare_bytes`` zeros; missing pages are
        zeros.

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


class LeafPages(Struct, frozen=True):
    """The pages that hold the rows of a table.

    Attributes:
        pages: Page numbers, in the order of the rows.
        damaged: Number of pages left out with all pages below them, except those missing because
            the file is truncated.
    """

    pages: Int64
    damaged: int


def find_leaves(file: PageFile, root: int) -> LeafPages:
    """Find the leaves of the table whose tree begins at page ``root``, each once.

    Raises:
        OSError: the file cannot be read.
    """
    seen = np.zeros(file.pages + 1, np.bool_)
    level = np.array([root], np.int64)
    damaged = 0
    for _ in range(MAX_DEPTH):
        level = level[(level < 1) | (level > file.declared_pages) | (level <= file.pages)]
        known = level[(level >= 1) & (level <= file.pages)]
        fresh = known[np.sort(np.unique(known, return_index=True)[1])]
        fresh = fresh[~seen[fresh]]
        seen[fresh] = True
        damaged += len(level) - len(fresh)
        if not len(fresh) or _kind(file, fresh) == LEAF:
            return LeafPages(fresh, damaged)
        level, wrong = _children(file, fresh)
        damaged += wrong
    return LeafPages(np.empty(0, np.int64), damaged + len(level))


def is_table(file: PageFile, root: int) -> bool:
    """Whether the tree at page ``root`` belongs to a table with row ids.

    Raises:
        OSError: the file cannot be read.
    """
    if not 1 < root <= file.pages:
        return False
    return int(file.read(np.array([root], np.int64))[0]) in (LEAF, INTERIOR)


def _kind(file: PageFile, level: Int64) -> int:
    """The type of most pages of a level, :data:`LEAF` or :data:`INTERIOR`."""
    picked = level[np.linspace(0, len(level) - 1, min(SAMPLED_PAGES, len(level))).astype(np.int64)]
    kinds = file.read(picked)[:: file.page_bytes]
    return LEAF if (kinds == LEAF).sum() >= (kinds == INTERIOR).sum() else INTERIOR


def _children(file: PageFile, level: Int64) -> tuple[Int64, int]:
    """The child pages of a level, and the number of damaged pages and pointers."""
    children = [np.empty(0, np.int64)]
    damaged = 0
    step = max(1, READ_BYTES // file.page_bytes)
    for first in range(0, len(level), step):
        numbers, wrong = _children_of_some(file, level[first : first + step])
        children.append(numbers)
        damaged += wrong
    return np.concatenate(children), damaged


def _children_of_some(file: PageFile, level: Int64) -> tuple[Int64, int]:
    """As :func:`_children`, of few pages."""
    data = file.read(level, spare_bytes=4)
    heads = data[:-4].reshape(len(level), file.page_bytes)
    cells = heads[:, 3].astype(np.int64) << 8 | heads[:, 4]
    end = INTERIOR_HEAD_BYTES + 2 * cells
    is_right = (heads[:, 0] == INTERIOR) & (end <= file.usable_bytes)
    start, cells, end = np.flatnonzero(is_right) * file.page_bytes, cells[is_right], end[is_right]
    page = np.repeat(start, cells)
    order = np.arange(len(page)) - np.repeat(np.cumsum(cells) - cells, cells)
    pointer = page + INTERIOR_HEAD_BYTES + 2 * order
    offset = data[pointer].astype(np.int64) << 8 | data[pointer + 1]
    is_inside = (offset >= np.repeat(end, cells)) & (offset <= file.usable_bytes - 4)
    # The rightmost child, in the head of the page, comes after those in its cells.
    at = np.concatenate([(page + offset)[is_inside], start + 8])
    owner = np.concatenate([page[is_inside], start])
    at = at[np.argsort(owner, kind="stable")]
    numbers = data[at[:, None] + np.arange(4)].view(">u4")[:, 0].astype(np.int64)
    return numbers, int((~is_right).sum()) + int((~is_inside).sum())


class OverflowChains:
    """Reads chains of overflow pages (rows longer than a page); in total no more than the file
    has. To be used in a ``with`` statement."""

    def __init__(self, file: PageFile) -> None:
        self._file = file
        self._left = file.pages

    def __enter__(self) -> OverflowChains:
        descriptor = os.open(self._file.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._opened = os.fdopen(descriptor, "rb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def read(self, pointer: Bytes, size_bytes: int, targets: Sequence[tuple[int, Bytes]]) -> bool:
        """Read the chain that begins at the page ``pointer``.

        Args:
            pointer: Its first page.
            size_bytes: How much of it is needed.
            targets: Receive the bytes from an offset on; an offset before the chain is negative.
                Pages without any of these are not read.

        Returns:
            Whether the chain has as many bytes.

        Raises:
            OSError: the file cannot be read.
        """
        number = int.from_bytes(pointer.tobytes(), "big")
        page_bytes, step = self._file.page_bytes, self._file.usable_bytes - 4
        for at in range(0, size_bytes, step):
            if not 1 < number <= self._file.pages or self._left <= 0:
                return False
            self._left -= 1
            end = min(at + step, size_bytes)
            wanted = [
                (max(first, at), min(first + len(target), end), first, target)
                for first, target in targets
            ]
            last = max((each[1] for each in wanted if each[0] < each[1]), default=at)
            self._opened.seek((number - 1) * page_bytes)
            page = self._opened.read(4 + last - at)
            number = int.from_bytes(page[:4], "big")
            content = np.frombuffer(page, np.uint8)[4:]
            for low, high, first, target in wanted:
                if low < high:
                    target[low - first : high - first] = content[low - at : high - at]
        return True
