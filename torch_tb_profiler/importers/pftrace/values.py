"""The values of one argument → a column in the form of its target."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.importers.kineto.tables import MAX_VALUES
from torch_tb_profiler.importers.kineto.values import (
    INT64_MAX,
    Interner,
    flag_column,
    float_column,
    int_column,
    text_codes,
)
from torch_tb_profiler.importers.pftrace.argument_targets import (
    Form,
    Target,
    index_value,
    text_value,
)
from torch_tb_profiler.importers.pftrace.batch import Argument
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.quality import QualityReport


class ArgumentColumn(Struct, frozen=True):
    """One argument of some slices of the file: their rows, and the values as in the table."""

    rows: Int64
    values: npt.NDArray[Any]


def column_of(
    argument: Argument, target: Target, name: str, strings: Interner, quality: QualityReport
) -> ArgumentColumn:
    """Convert an argument to its column.

    Args:
        argument: The argument, with rows of the file.
        target: The column that it is read into.
        name: Its name, for examples.
        strings: The strings of the file; new texts are added.
        quality: Counts values that are not numbers or implausible.
    """
    form = target.form
    if argument.ints is not None and form in (Form.INT, Form.INDEX):
        values = argument.ints
        maximum = MAX_VALUES.get(target.name, INT64_MAX)
        if maximum < INT64_MAX and (np.abs(values) > maximum).any():
            values = int_column(values.tolist(), quality, name, maximum)
        return ArgumentColumn(argument.rows, values)
    distinct, codes = argument.values, argument.codes
    if argument.ints is not None:
        distinct_ints, inverse = np.unique(argument.ints, return_inverse=True)
        distinct, codes = distinct_ints.tolist(), inverse.astype(np.int32)
    assert codes is not None
    return ArgumentColumn(
        argument.rows, _converted(distinct, target, name, strings, quality)[codes]
    )


def _converted(
    values: list[Any], target: Target, name: str, strings: Interner, quality: QualityReport
) -> npt.NDArray[Any]:
    form = target.form
    if form is Form.INT:
        plain = [None if isinstance(value, (list, dict)) else value for value in values]
        return int_column(plain, quality, name, MAX_VALUES.get(target.name, INT64_MAX))
    if form is Form.INDEX:
        return np.array([index_value(value) for value in values], np.int64)
    if form is Form.FLOAT:
        return float_column(values, quality, name)
    if form is Form.FLAG:
        return flag_column(values)
    texts = [text_value(form, value) for value in values]
    return text_codes(texts, strings)
