"""The values of one argument → a column, in the form of its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True)
class ArgumentColumn:
    """One argument of some slices of the file: their rows, and the values as the table has them."""

    rows: Int64
    values: npt.NDArray[Any]


def column_of(
    argument: Argument, target: Target, name: str, strings: Interner, quality: QualityReport
) -> ArgumentColumn:
    """An argument as the column it belongs to.

    Args:
        argument: As a batch has it, with rows of the file.
        target: Where it belongs.
        name: What it is called, for notes.
        strings: Gets the texts that it does not hold yet.
        quality: Is told of what is no number, and of what is beyond sense.
    """
    form = target.form
    if argument.ints is not None and form in (Form.INT, Form.INDEX):
        values = argument.ints
        most = MAX_VALUES.get(target.name, INT64_MAX)
        if most < INT64_MAX and (np.abs(values) > most).any():
            values = int_column(values.tolist(), quality, name, most)
        return ArgumentColumn(argument.rows, values)
    given, codes = argument.values, argument.codes
    if argument.ints is not None:
        distinct, place = np.unique(argument.ints, return_inverse=True)
        given, codes = distinct.tolist(), place.astype(np.int32)
    assert codes is not None
    return ArgumentColumn(argument.rows, _distinct(given, target, name, strings, quality)[codes])


def _distinct(
    given: list[Any], target: Target, name: str, strings: Interner, quality: QualityReport
) -> npt.NDArray[Any]:
    form = target.form
    if form is Form.INT:
        plain = [None if isinstance(value, (list, dict)) else value for value in given]
        return int_column(plain, quality, name, MAX_VALUES.get(target.name, INT64_MAX))
    if form is Form.INDEX:
        return np.array([index_value(value) for value in given], np.int64)
    if form is Form.FLOAT:
        return float_column(given, quality, name)
    if form is Form.FLAG:
        return flag_column(given)
    texts = [text_value(form, value) for value in given]
    return text_codes(texts, strings)
