"""Leaf pages of a table as columns: position and kind of each cell of the requested columns.

All rows of some pages are processed at once. Layout:
https://www.sqlite.org/fileformat2.html#record_format.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.importers.sqlite.pages import LEAF, Bytes, OverflowChains, PageFile
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant

NULL, REAL, ZERO, ONE, BLOB, TEXT = 0, 7, 8, 9, 12, 13
"""Kinds of cells: 1 to 6 are integers of 1, 2, 3, 4, 6 and 8 bytes."""

LEAF_HEAD_BYTES = 8
SPARE_BYTES = 4096
"""Zeros after the pages, so that reads slightly past the end are valid."""

CONTINUATION = 0x80
"""Bytes with this bit begin or continue a number of several bytes."""

MAX_CELL_BYTES = 1 << 40
"""Sizes are clipped to this, larger than any file, so that sums of sizes do not overflow."""

Kinds = npt.NDArray[np.uint8]

_SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0], np.int64)
"""Sizes of the kinds with a fixed size."""


def _all_kinds() -> Kinds:
    types = np.arange(CONTINUATION)
    kinds = np.where(types >= BLOB, BLOB + (types & 1), types)
    return np.where((types > ONE) & (types < BLOB), NULL, kinds).astype(np.uint8)


def _all_sizes() -> Int64:
    types = np.arange(CONTINUATION)
    return np.where(types >= BLOB, (types - BLOB) >> 1, _SIZES[np.minimum(types, 11)])


KIND_OF_BYTE = np.tile(_all_kinds(), 2)
SIZE_OF_BYTE = np.tile(_all_sizes(), 2)
"""Kind and size of a type of one byte; the entries for first bytes of longer types are not used."""


class ColumnCells(Struct):
    """The cells of one column.

    Attributes:
        kinds: Kind per row; a constant array if all are equal, which is common.
        starts: Offset of the cell in ``LeafRecords.data``.
        sizes: Size of the cell in bytes.
    """

    kinds: Kinds
    starts: Int64
    sizes: Int64


class LeafRecords(Struct):
    """Rows of some pages. The rows do not depend on the requested columns.

    Attributes:
        data: The bytes in which cells are located.
        row_ids: Id of each row.
        cells: Cells by position of the column in the table.
        damaged: Number of pages and rows that were left out or miss cells.
    """

    data: Bytes
    row_ids: Int64
    cells: dict[int, ColumnCells]
    damaged: int


def read_records(
    file: PageFile, numbers: Int64, columns: Sequence[int], most_bytes: int = MAX_CELL_BYTES
) -> LeafRecords:
    """Read the rows on these leaf pages, with these columns.

    Args:
        file: The database.
        numbers: Page numbers, in the order of the rows.
        columns: Positions in the rows; cells past a row's end are null.
        most_bytes: Of longer cells only so many bytes are read.

    Raises:
        OSError: the file cannot be read.
    """
    count = max(columns, default=-1) + 1
    data = file.read(numbers, SPARE_BYTES + count)
    starts, ends, damaged = _find_rows(data, file, len(numbers))
    payload, start = varints(data, starts)
    row_ids, start = varints(data, start)
    local = _local_bytes(payload, file.usable_bytes)
    head, first = varints(data, start)
    is_whole = (start + local <= ends) & (head <= local) & (first <= start + head)
    rows = _Rows(data, row_ids, payload, start, local, head, first)
    if not is_whole.all():
        damaged += int((~is_whole).sum())
        rows = _Rows(data, *(each[is_whole] for each in rows.columns()))
    return rows.records(file, set(columns), damaged, most_bytes)


class _Rows(Struct):
    """Rows by the positions of their parts.

    Attributes:
        payload: Length of the row.
        start: Offset of the row, which begins with its header.
        local: Number of bytes on its own page.
        head: Length of the header.
        first: Offset of the first type in the header.
    """

    data: Bytes
    row_ids: Int64
    payload: Int64
    start: Int64
    local: Int64
    head: Int64
    first: Int64

    def columns(self) -> tuple[Int64, ...]:
        return self.row_ids, self.payload, self.start, self.local, self.head, self.first

    def records(
        self, file: PageFile, wanted: set[int], damaged: int, most_bytes: int
    ) -> LeafRecords:
        """The cells of the ``wanted`` columns."""
        count = max(wanted, default=-1) + 1
        types = _Types.read(self.data, self.first, self.start + self.head, count)
        offset = self.head
        cells: dict[int, ColumnCells] = {}
        for column in range(count):
            kinds, sizes = types.column(column)
            if column in wanted:
                read_sizes = sizes
                if not is_constant(sizes) and len(sizes) and sizes.max() > most_bytes:
                    read_sizes = np.minimum(sizes, most_bytes)
                cells[column] = ColumnCells(kinds, offset, read_sizes)
                sizes = read_sizes if column == count - 1 else sizes
            if not is_constant(sizes):
                offset = offset + sizes
            elif sizes[0]:
                offset = offset + sizes[0]
        available = self.payload
        overflowing = np.flatnonzero((offset > self.local) & (self.payload > self.local))
        moved: list[tuple[ColumnCells, int, int]] = []
        if len(overflowing):
            available = available.copy()
            needed = np.minimum(offset, available)
            moved = self._gather(file, overflowing, needed, available, list(cells.values()))
        is_truncated = offset > available
        if is_truncated.any():
            damaged += int(is_truncated.sum())
            for each in cells.values():
                is_inside = each.starts + each.sizes <= available
                each.kinds = np.where(is_inside, each.kinds, np.uint8(NULL))
                each.starts = np.where(is_inside, each.starts, self.head)
                each.sizes = np.where(is_inside, each.sizes, 0)
        for each in cells.values():
            each.starts = each.starts + self.start
        for each, row, at in moved:
            each.starts[row] = at
        return LeafRecords(self.data, self.row_ids, cells, damaged)

    def _gather(
        self,
        file: PageFile,
        overflowing: Int64,
        needed: Int64,
        available: Int64,
        cells: Sequence[ColumnCells],
    ) -> list[tuple[ColumnCells, int, int]]:
        """Append the cells of rows that continue on other pages to the data; ``available`` is
        reduced if their pages are missing.

        Returns:
            Column, row and offset in the data of these cells.
        """
        moved: list[tuple[ColumnCells, int, int]] = []
        parts, at = [self.data], len(self.data)
        with OverflowChains(file) as chains:
            for row, length in zip(overflowing.tolist(), needed[overflowing].tolist(), strict=True):
                begin, local = int(self.start[row]), int(self.local[row])
                wanted = [
                    (each, int(each.starts[row]), np.zeros(int(each.sizes[row]), np.uint8))
                    for each in cells
                    if int(each.starts[row] + each.sizes[row]) > local
                    and each.sizes[row] <= file.size_bytes
                ]
                targets = [(first - local, target) for _, first, target in wanted]
                pointer = self.data[begin + local : begin + local + 4]
                if not chains.read(pointer, length - local, targets):
                    available[row] = local
                    continue
                for each, first, target in wanted:
                    if first < local:
                        target[: local - first] = self.data[begin + first : begin + local]
                    moved.append((each, row, at))
                    parts.append(target)
                    at += len(target)
        self.data = np.concatenate([*parts, np.zeros(SPARE_BYTES, np.uint8)])
        return moved


def varints(data: Bytes, starts: Int64) -> tuple[Int64, Int64]:
    """The numbers of one to nine bytes that begin at ``starts``, and the offsets after them."""
    byte = data[starts]
    values = (byte & 0x7F).astype(np.int64)
    after = starts + 1
    more = np.flatnonzero(byte >= CONTINUATION)
    for count in range(2, 10):
        if not len(more):
            break
        byte = data[after[more]]
        shift, bits = (7, 0x7F) if count < 9 else (8, 0xFF)
        values[more] = values[more] << shift | byte & bits
        after[more] += 1
        more = more[byte >= CONTINUATION] if count < 9 else more[:0]
    return values, after


def _find_rows(data: Bytes, file: PageFile, pages: int) -> tuple[Int64, Int64, int]:
    """Offsets at which rows begin and at which their pages end, and the number of damaged pages and
    rows."""
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
    """Number of bytes of each row that are on its own page."""
    most = usable - 35
    least = (usable - 12) * 32 // 255 - 23
    remainder = least + (payload - least) % (usable - 4)
    return np.where(payload <= most, payload, np.where(remainder <= most, remainder, least))


class _Types(Struct):
    """Types of the first columns of some rows.

    Attributes:
        plain: Per column the first byte of the type of each row; 0 (null) past a row's end.
        long: Rows in which a type takes several bytes.
        long_kinds: Per column the kinds of these rows.
        long_sizes: Per column the sizes of their cells.
    """

    plain: Kinds
    long: Int64
    long_kinds: Kinds
    long_sizes: Int64

    @classmethod
    def read(cls, data: Bytes, first: Int64, end: Int64, columns: int) -> _Types:
        """The types of rows, from the offsets at which their headers' types begin and end."""
        window = np.lib.stride_tricks.as_strided(
            data, (len(data) - columns, columns), (1, 1), writeable=False
        )
        plain = np.ascontiguousarray(window[first].T)
        count = end - first
        if len(count) and count.min() < columns:
            plain[np.arange(columns)[:, None] >= count] = NULL
        long = np.flatnonzero(plain.max(axis=0, initial=0) >= CONTINUATION)
        return cls(plain, long, *_long_types(data, first[long], end[long], columns))

    def column(self, column: int) -> tuple[Kinds, Int64]:
        """Kinds and sizes of the cells of a column."""
        types = self.plain[column]
        if len(types) and not len(self.long) and types.min() == types.max():
            kind, size = KIND_OF_BYTE[types[0]], SIZE_OF_BYTE[types[0]]
            return constant(kind, len(types), np.uint8), constant(size, len(types), np.int64)
        kinds: Kinds = KIND_OF_BYTE.take(types)
        sizes: Int64 = SIZE_OF_BYTE.take(types)
        kinds[self.long] = self.long_kinds[column]
        sizes[self.long] = self.long_sizes[column]
        return kinds, sizes


def _long_types(data: Bytes, start: Int64, end: Int64, columns: int) -> tuple[Kinds, Int64]:
    """Kinds and sizes per column for rows in which a type takes several bytes."""
    kinds = np.zeros((columns, len(start)), np.uint8)
    sizes = np.zeros((columns, len(start)), np.int64)
    for column in range(columns):
        is_present = start < end
        types, after = varints(data, start)
        types = np.where(is_present, types, 0)
        is_big = (types >= CONTINUATION) | (types < 0)
        small = np.where(is_big, NULL, types)
        size = np.where(types < 0, MAX_CELL_BYTES, (types - BLOB) >> 1)
        kinds[column] = np.where(is_big, BLOB + (types & 1), KIND_OF_BYTE[small])
        sizes[column] = np.where(is_big, size, SIZE_OF_BYTE[small])
        start = np.where(is_present, after, start)
    return kinds, np.minimum(sizes, MAX_CELL_BYTES)
