"""Blocks of rows: what is computed block by block needs no temporary columns of the whole length,
and the block's remain in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_ROWS = 1 << 16


def blocks(size: int) -> Iterator[slice]:
    """The rows of a column of this length, block by block."""
    return (slice(first, first + BLOCK_ROWS) for first in range(0, size, BLOCK_ROWS))
