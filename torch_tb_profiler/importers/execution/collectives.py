"""Attributes of collectives → the table ``collective``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from torch_tb_profiler.importers.execution.nodes import as_integer
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, absent_table

COMM_TYPES = (
    "allreduce", "reduce", "allgather", "gather", "scatter", "broadcast", "alltoall",
    "reduce_scatter", "reduce_scatter", "barrier",
)  # fmt: skip
"""Chakra's ``CollectiveCommType`` by number."""

MAX_ELEMENTS = 2**53


def collective_table(
    collectives: Mapping[int, Mapping[str, Any]], strings: list[str]
) -> ColumnArrays:
    """The rows of ``collective``.

    Args:
        collectives: Row of the slice → attributes of its node.
        strings: The dictionary; new texts are appended.
    """
    codes: dict[str, int] = {text: code for code, text in enumerate(strings)}
    table = absent_table("collective", len(collectives))
    table["slice"] = np.array(list(collectives), np.int64)

    def code(text: Any) -> int:
        if not isinstance(text, str) or not text:
            return -1
        number = codes.setdefault(text[:200], len(strings))
        if number == len(strings):
            strings.append(text[:200])
        return number

    for at, given in enumerate(collectives.values()):
        values = {
            "collective_code": code(given.get("collective_name") or _named(given.get("comm_type"))),
            "dtype_code": code(given.get("dtype")),
            "in_nelems": _count(given.get("in_msg_nelems")),
            "out_nelems": _count(given.get("out_msg_nelems")),
            "group_size": _count(given.get("pg_size")),
            "group_code": code(given.get("pg_name")),
            "group_description_code": code(given.get("pg_desc")),
        }
        for name, value in values.items():
            table[name][at] = value
    return table


def _named(number: Any) -> str | None:
    value = as_integer(number)
    return COMM_TYPES[value] if 0 <= value < len(COMM_TYPES) else None


def _count(value: Any) -> int:
    number = as_integer(value)
    return number if 0 <= number <= MAX_ELEMENTS else ABSENT
