"""Rows of the table ``arguments``: the metrics of ranges that CUPTI's range profiler measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.decoded import DecodedArguments
from torch_tb_profiler.importers.kineto.structs import DEVICE_FIELDS
from torch_tb_profiler.importers.kineto.values import Interner, float_column
from torch_tb_profiler.importers.slice_arguments import one_argument
from torch_tb_profiler.trace.columns import ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

RANGE_CATEGORY = "cuda_profiler_range"
"""Its arguments are one number per metric; the other ones that device slices have are none."""

_OTHERS = {field.key for field in DEVICE_FIELDS.values()} | {"correlation", "External id"}


def range_arguments(
    args: DecodedArguments,
    rows: Int64,
    raw_category: Int32,
    strings: Interner,
    quality: QualityReport,
) -> Iterator[ColumnArrays]:
    """The metrics of measured ranges.

    Args:
        args: The arguments of device slices.
        rows: The row of each.
        raw_category: Its category in the file.
        strings: The strings; keys are added.
        quality: Counts wrong values.
    """
    code = strings.get(RANGE_CATEGORY)
    ranges = np.flatnonzero(raw_category == (-2 if code is None else code))
    if not ranges.size:
        return
    values: dict[str, list[object]] = {}
    owners: dict[str, list[int]] = {}
    given = decode_args(structs.COUNTER_ARGS, args.raws(ranges.tolist()), quality)
    for row, metrics in zip(rows[ranges].tolist(), given, strict=True):
        for key, value in metrics.items():
            if key not in _OTHERS and type(value) in (int, float):
                values.setdefault(key, []).append(value)
                owners.setdefault(key, []).append(row)
    for key, numbers in values.items():
        measured = float_column(numbers, quality, key)
        present = np.flatnonzero(np.isfinite(measured))
        if present.size:
            owner = np.array(owners[key], np.int64)[present]
            yield one_argument(owner, strings[key], values=measured[present])
