"""Requested arguments of slices (``ReadOptions.arguments``) → rows of the table ``arguments``."""

from __future__ import annotations

import json

import numpy as np

from torch_tb_profiler.importers.kineto.requested import ArgumentConversion
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.annotations import NULL
from torch_tb_profiler.importers.pftrace.batch import Argument
from torch_tb_profiler.importers.requested_arguments import RequestedArguments
from torch_tb_profiler.importers.slice_arguments import one_argument
from torch_tb_profiler.trace.columns import ColumnArrays, Int64
from torch_tb_profiler.trace.quality import QualityReport


def requested_rows(
    argument: Argument,
    name: str,
    requested: RequestedArguments,
    strings: Interner,
    quality: QualityReport,
) -> ColumnArrays:
    """The rows of one argument, converted as those of Kineto's JSON.

    Args:
        argument: The argument, with rows of the file, negative for none; its texts are resolved.
        name: Its name.
        requested: What is read.
        strings: The strings of the file; new texts are added.
        quality: Counts cut texts and values that may be secrets.
    """
    if argument.ints is not None:
        distinct, codes = np.unique(argument.ints, return_inverse=True)
        values = distinct.tolist()
    else:
        assert argument.codes is not None
        values, codes = argument.values, argument.codes.astype(np.int64)
    convert = ArgumentConversion(name, requested, strings, quality)
    converted = [
        convert.value(json.dumps(None if value == NULL else value, default=str).encode())
        for value in values
    ]
    numbers = np.array([number for number, _ in converted], np.float64)[codes]
    texts = np.array([code for _, code in converted], np.int32)[codes]
    present = (argument.rows >= 0) & (~np.isnan(numbers) | (texts >= 0))
    return one_argument(
        argument.rows[present],
        strings[name],
        values=numbers[present],
        text_codes=texts[present],
    )


def in_rows(table: ColumnArrays, row_of: Int64) -> ColumnArrays:
    """The rows of slices that remain, with their rows.

    Args:
        table: Rows of ``arguments``, with rows of the file.
        row_of: Per row of the file the row of the slice; -1 for none.
    """
    row = row_of[table["slice"]]
    used = row >= 0
    return {**{name: values[used] for name, values in table.items()}, "slice": row[used]}
