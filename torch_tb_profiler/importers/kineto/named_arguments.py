"""Rows of the table ``arguments``: directions of copies, and nodes of graphs that are no work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.decoded import DecodedArguments
from torch_tb_profiler.importers.kineto.structs import (
    COPY_FIELDS,
    DEVICE_FIELDS,
    NODE_FIELDS,
    NODE_NUMBERS,
)
from torch_tb_profiler.importers.kineto.values import Interner, float_column, text_codes
from torch_tb_profiler.importers.slice_arguments import add_arguments, one_argument
from torch_tb_profiler.trace.categories import GRAPH_NODES, Category
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, EventColumns, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

NODE_COLUMNS = ("stream", "graph", "graph_node")
"""Columns of the table ``device`` that those nodes have too; the trace keeps them of device work
only."""


def copy_arguments(
    args: DecodedArguments, rows: Int64, strings: Interner
) -> Iterator[ColumnArrays]:
    """The directions and memories of copies and sets.

    Args:
        args: The arguments of device slices.
        rows: The row of each.
        strings: The strings; keys and values are added.
    """
    for name, field in COPY_FIELDS.items():
        if args.has_field(name):
            yield from text_argument(rows, field.key, args.text_codes(name, strings), strings)


def node_arguments(
    args: DecodedArguments,
    rows: Int64,
    raw_category: Int32,
    strings: Interner,
    quality: QualityReport,
) -> Iterator[ColumnArrays]:
    """The arguments of nodes of graphs that are no device work.

    Args:
        args: The arguments of device slices.
        rows: The row of each.
        raw_category: Its category in the file.
        strings: The strings; keys and values are added.
        quality: Counts repairs and wrong values.
    """
    codes = [code for name in GRAPH_NODES if (code := strings.get(name)) is not None]
    nodes = np.flatnonzero(np.isin(raw_category, codes))
    if not nodes.size:
        return
    given = decode_args(structs.NODE_ARGS, args.raws(nodes.tolist()), quality)
    for name, field in NODE_FIELDS.items():
        values = [getattr(each, name) for each in given]
        if name in NODE_NUMBERS:
            numbers = float_column(values, quality, field.key)
            present = np.flatnonzero(~np.isnan(numbers))
            if present.size:
                key = strings[field.key]
                yield one_argument(rows[nodes[present]], key, values=numbers[present])
        else:
            yield from text_argument(rows[nodes], field.key, text_codes(values, strings), strings)


def text_argument(rows: Int64, key: str, codes: Int32, strings: Interner) -> Iterator[ColumnArrays]:
    """The rows of one argument whose values are texts, -1 for none; nothing if no slice has it."""
    given = np.flatnonzero(codes >= 0)
    if given.size:
        yield one_argument(rows[given], strings[key], text_codes=codes[given])


def add_node_numbers(columns: EventColumns) -> None:
    """Append stream, graph and number of nodes of graphs that are no device work, in place, unless
    they were requested and are there; of device work they are columns of the trace."""
    slices, device = columns.tables["slices"], columns.tables["device"]
    owner = device["slice"]
    rows = np.flatnonzero(slices["category"][owner] == Category.DEVICE_OTHER)
    raw_category = slices["raw_category_code"][owner[rows]]
    names, known = columns.strings, columns.tables["arguments"]
    codes = [code for code in np.unique(raw_category).tolist() if code >= 0]
    rows = rows[np.isin(raw_category, [code for code in codes if names[code] in GRAPH_NODES])]
    parts = []
    for column in NODE_COLUMNS:
        given = rows[device[column][rows] != ABSENT]
        if given.size:
            key = _code(names, DEVICE_FIELDS[column].key)
            given = given[~np.isin(owner[given], known["slice"][known["key_code"] == key])]
            numbers = device[column][given].astype(np.float64)
            parts.append(one_argument(owner[given], key, values=numbers))
    if parts:
        add_arguments(columns, parts)


def _code(strings: list[str], text: str) -> int:
    """The code of a text, which is appended unless it is there."""
    if text not in strings:
        strings.append(text)
    return strings.index(text)
