"""Which calls of different ranks fit each other: the same operation, sizes and types."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.hang import equal_sides

Codes = np.ndarray[tuple[int], np.dtype[np.int64]]


def distinct_calls(calls: pl.DataFrame) -> tuple[pl.DataFrame, Codes, Codes]:
    """The distinct calls of all dumps.

    Args:
        calls: ``flight_calls`` of all dumps, one after the other.

    Returns:
        The distinct ones; per row of ``calls`` its number among them; and per distinct call a code
        that is equal for those that may be one collective (``knowledge/hang.toml``).
    """
    if calls.is_empty():
        return calls, np.zeros(1, np.int64), np.zeros(1, np.int64)
    distinct = calls.unique(maintain_order=True).with_row_index("number")
    number = calls.join(distinct, on=calls.columns, how="left", maintain_order="left")["number"]
    distinct = distinct.drop("number")
    keys = pl.Series([compared_text(*row) for row in distinct.iter_rows()], dtype=pl.String)
    compared = keys.rank("dense").to_numpy().astype(np.int64)
    return distinct, number.to_numpy().astype(np.int64), compared


def compared_text(
    operation: str, input_sizes: str, output_sizes: str, input_types: str, output_types: str
) -> str:
    """What must be equal on all ranks, as text: a shape counts by its number of elements."""
    name = communication.collective(operation)
    sides = equal_sides(name)
    parts = [name or operation.rpartition(":")[2]]
    if "input" in sides:
        parts += [_elements(input_sizes), input_types]
    if "output" in sides:
        parts += [_elements(output_sizes), output_types]
    return "|".join(parts)


def differences(first: tuple[str, ...], second: tuple[str, ...]) -> list[str]:
    """In which of ``operation``, ``sizes`` and ``types`` two calls differ.

    Args:
        first, second: Rows of ``flight_calls``.
    """
    names = [communication.collective(each[0]) or each[0] for each in (first, second)]
    if names[0] != names[1]:
        return ["operation"]
    sizes = [[_elements(text) for text in each[1:3]] for each in (first, second)]
    types = [each[3:5] for each in (first, second)]
    return [what for what, pair in (("sizes", sizes), ("types", types)) if pair[0] != pair[1]]


def moved_text(
    operation: str, input_sizes: str, output_sizes: str, input_types: str, output_types: str
) -> str:
    """What a send and its receive must have in common, as text."""
    is_send = "send" in operation
    sizes, types = (input_sizes, input_types) if is_send else (output_sizes, output_types)
    return f"{_elements(sizes)}|{types}"


def _elements(sizes: str) -> str:
    """``"[[8, 4], [2]]"`` → ``"32,2"``."""
    try:
        shapes: Any = msgspec.json.decode(sizes)
    except msgspec.DecodeError:
        return sizes
    return ",".join(str(math.prod(shape)) for shape in shapes)
