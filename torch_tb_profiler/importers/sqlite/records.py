"""Leaf pages of a table as columns: where each cell of the wanted columns lies, and of what kind.

Everything is done for all rows of some pages at once. Layout:
https://www.sqlite.org/fileformat2.html#record_format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.sqlite.overflow import Chains
from torch_tb_profiler.importers.sqlite.pages import LEAF, Bytes, PageFile
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.constants import constant, is_constant

NULL, REAL, ZERO, ONE, BLOB, TEXT = 0, 7, 8, 9, 12, 13
"""Kinds of cells: 1 to 6 are integers of 1, 2, 3, 4, 6 and 8 bytes."""

LEAF_HEAD_BYTES = 8
SPARE_BYTES = 4096
"""Behind the pages, so that looking a little too far finds zeros."""

LONG = 0x80
"""Bytes from here on begin a number of several bytes."""

LARGEST_CELL_BYTES = 1 << 40
"""Sizes are cut to this, beyond any file, so that sums of them are numbers."""

Kinds = npt.NDArray[np.uint8]

_SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0], np.int64)
"""Of the kinds of fixed size."""


def _all_kinds() -> Kinds:
    types = np.arange(LONG)
    kinds = np.where(types >= BLOB, BLOB + (types & 1), types)
    return np.where((types > ONE) & (types < BLOB), NULL, kinds).astype(np.uint8)


def _all_sizes() -> Int64:
    types = np.arange(LONG)
    return np.where(types >= BLOB, (types - BLOB) >> 1, _SIZES[np.minimum(types, 11)])


KIND_OF_BYTE = np.tile(_all_kinds(), 2)
SIZE_OF_BYTE = np.tile(_all_sizes(), 2)
"""Of a type that is one byte; what they say of a longer one's first byte does not count."""


@dataclass(slots=True)
class Cells:
    """The cells of one column.

    Attributes:
        kinds: Of each row; a constant column where all are alike, as often.
        starts: Place of the cell in ``Records.data``.
        sizes: Of the cells, in bytes.
    """

    kinds: Kinds
    starts: Int64
    sizes: Int64


@dataclass(slots=True)
class Records:
    """Rows of some pages. Which rows these are does not depend on the columns that are wanted.

    Attributes:
        data: The bytes that places count in.
        row_ids: Of each row.
        cells: By place of the column in the table.
        damaged: Pages, rows of other pages and rows with cells that were left out.
    """

    data: Bytes
    row_ids: Int64
    cells: dict[int, Cells]
    damaged: int


def records_of(file: PageFile, numbers: Int64, columns: Sequence[int]) -> Records:
    """The rows on these leaf pages, with these columns.

    Args:
        file: The database.
        numbers: Of the pages, in the order of the rows.
        columns: Places in the rows; cells behind a row's end are null, and those that lie outside
            of it.

    Raises:
        OSError: the file cannot be read.
    """
    count = max(columns, default=-1) + 1
    data = file.read(numbers, SPARE_BYTES + count)
    starts, ends, damaged = _rows(data, file, len(numbers))
    payload, place = varints(data, starts)
    row_ids, place = varints(data, place)
    local = _local_bytes(payload, file.usable_bytes)
    head, first = varints(data, place)
    is_whole = (place + local <= ends) & (head <= local) & (first <= place + head)
    rows = _Rows(data, row_ids, payload, place, local, head, first)
    if not is_whole.all():
        damaged += int((~is_whole).sum())
        rows = _Rows(data, *(each[is_whole] for each in rows.columns()))
    return rows.records(file, set(columns), count, damaged)


@dataclass(slots=True)
class _Rows:
    """Rows by their beginnings.

    Attributes:
        payload: Length of the row.
        place: Where it begins: the header first.
        local: How much of it lies on its own page.
        head: Length of the header.
        first: Where the first type of the header stands.
    """

    data: Bytes
    row_ids: Int64
    payload: Int64
    place: Int64
    local: Int64
    head: Int64
    first: Int64

    def columns(self) -> tuple[Int64, ...]:
        return self.row_ids, self.payload, self.place, self.local, self.head, self.first

    def records(self, file: PageFile, wanted: set[int], count: int, damaged: int) -> Records:
        """The cells of the wanted ones of the first ``count`` columns."""
        types = _Types.of(self.data, self.first, self.place + self.head, count)
        behind = self.head
        cells: dict[int, Cells] = {}
        for column in range(count):
            kinds, sizes = types.column(column)
            if column in wanted:
                cells[column] = Cells(kinds, behind, sizes)
            if not is_constant(sizes):
                behind = behind + sizes
            elif sizes[0]:
                behind = behind + sizes[0]
        held = self.payload
        spilled = np.flatnonzero((behind > self.local) & (self.payload > self.local))
        if len(spilled):
            held = held.copy()
            self._gather(file, spilled, np.minimum(behind, held), held)
        is_cut = behind > held
        if is_cut.any():
            damaged += int(is_cut.sum())
            for each in cells.values():
                is_inside = each.starts + each.sizes <= held
                each.kinds = np.where(is_inside, each.kinds, np.uint8(NULL))
                each.starts = np.where(is_inside, each.starts, self.head)
                each.sizes = np.where(is_inside, each.sizes, 0)
        for each in cells.values():
            each.starts = each.starts + self.place
        return Records(self.data, self.row_ids, cells, damaged)

    def _gather(self, file: PageFile, spilled: Int64, needed: Int64, held: Int64) -> None:
        """Put rows that go on in other pages behind the data, as far as they are needed; ``held``
        becomes less where their pages are missing."""
        chains = Chains(file)
        parts = [self.data]
        at = len(self.data)
        for row in spilled:
            start, stop = int(self.place[row]), int(self.place[row] + self.local[row])
            rest = chains.read(self.data[stop : stop + 4], int(needed[row]) - (stop - start))
            if rest is None:
                held[row] = self.local[row]
                continue
            parts += [self.data[start:stop], rest]
            self.place[row] = at
            at += stop - start + len(rest)
        self.data = np.concatenate([*parts, np.zeros(SPARE_BYTES, np.uint8)])


def varints(data: Bytes, places: Int64) -> tuple[Int64, Int64]:
    """The numbers of one to nine bytes that begin at ``places``, and the places behind them."""
    part = data[places]
    values = (part & 0x7F).astype(np.int64)
    behind = places + 1
    more = np.flatnonzero(part >= LONG)
    for count in range(2, 10):
        if not len(more):
            break
        part = data[behind[more]]
        shift, bits = (7, 0x7F) if count < 9 else (8, 0xFF)
        values[more] = values[more] << shift | part & bits
        behind[more] += 1
        more = more[part >= LONG] if count < 9 else more[:0]
    return values, behind


def _rows(data: Bytes, file: PageFile, pages: int) -> tuple[Int64, Int64, int]:
    """Where rows begin and their pages end, and how many pages or rows are damaged."""
    size, usable = file.page_bytes, file.usable_bytes
    heads = data[: pages * size].reshape(pages, size)
    counts = heads[:, 3].astype(np.int64) << 8 | heads[:, 4]
    is_leaf = (heads[:, 0] == LEAF) & (LEAF_HEAD_BYTES + 2 * counts <= usable)
    damaged = int((~is_leaf).sum())
    counts[~is_leaf] = 0
    page = np.repeat(np.arange(pages) * size, counts)
    order = np.arange(len(page)) - np.repeat(np.cumsum(counts) - counts, counts)
    pointer = page + LEAF_HEAD_BYTES + 2 * order
    offset = data[pointer].astype(np.int64) << 8 | data[pointer + 1]
    least = np.repeat(LEAF_HEAD_BYTES + 2 * counts, counts)
    is_inside = (offset >= least) & (offset <= usable - 3)
    damaged += int((~is_inside).sum())
    if not is_inside.all():
        page, offset = page[is_inside], offset[is_inside]
    return page + offset, page + usable, damaged


def _local_bytes(payload: Int64, usable: int) -> Int64:
    """How much of the rows lies on their own page."""
    most = usable - 35
    least = (usable - 12) * 32 // 255 - 23
    kept = least + (payload - least) % (usable - 4)
    return np.where(payload <= most, payload, np.where(kept <= most, kept, least))


@dataclass(slots=True)
class _Types:
    """Types of the first columns of some rows.

    Attributes:
        plain: Per column the first byte of the type of each row; 0, null, behind a row's end.
        long: Rows in which some type takes several bytes.
        long_kinds: Per column the kinds of these rows.
        long_sizes: Per column the sizes of their cells.
    """

    plain: Kinds
    long: Int64
    long_kinds: Kinds
    long_sizes: Int64

    @classmethod
    def of(cls, data: Bytes, first: Int64, end: Int64, columns: int) -> _Types:
        """Of rows by where their types begin and end."""
        window = np.lib.stride_tricks.as_strided(
            data, (len(data) - columns, columns), (1, 1), writeable=False
        )
        plain = np.ascontiguousarray(window[first].T)
        count = end - first
        if len(count) and count.min() < columns:
            plain[np.arange(columns)[:, None] >= count] = NULL
        long = np.flatnonzero(plain.max(axis=0, initial=0) >= LONG)
        return cls(plain, long, *_long_types(data, first[long], end[long], columns))

    def column(self, column: int) -> tuple[Kinds, Int64]:
        """Kinds and sizes of a column."""
        types = self.plain[column]
        if len(types) and not len(self.long) and types.min() == types.max():
            kind, size = KIND_OF_BYTE[types[0]], SIZE_OF_BYTE[types[0]]
            return constant(kind, len(types), np.uint8), constant(size, len(types), np.int64)
        kinds: Kinds = KIND_OF_BYTE.take(types)
        sizes: Int64 = SIZE_OF_BYTE.take(types)
        kinds[self.long] = self.long_kinds[column]
        sizes[self.long] = self.long_sizes[column]
        return kinds, sizes


def _long_types(data: Bytes, place: Int64, end: Int64, columns: int) -> tuple[Kinds, Int64]:
    """As :func:`_types`, for rows in which some type takes several bytes."""
    kinds = np.zeros((columns, len(place)), np.uint8)
    sizes = np.zeros((columns, len(place)), np.int64)
    for column in range(columns):
        is_there = place < end
        types, behind = varints(data, place)
        types = np.where(is_there, types, 0)
        is_big = (types >= LONG) | (types < 0)
        small = np.where(is_big, NULL, types)
        size = np.where(types < 0, LARGEST_CELL_BYTES, (types - BLOB) >> 1)
        kinds[column] = np.where(is_big, BLOB + (types & 1), KIND_OF_BYTE[small])
        sizes[column] = np.where(is_big, size, SIZE_OF_BYTE[small])
        place = np.where(is_there, behind, place)
    return kinds, np.minimum(sizes, LARGEST_CELL_BYTES)
