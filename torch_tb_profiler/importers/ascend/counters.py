"""Counters of a timeline → samples: the device metrics that were recorded next to the tasks."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.ascend.dialect import device_of
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.columns import (
    Bools,
    EventColumns,
    Float64,
    Int32,
    Int64,
    empty_table,
)
from torch_tb_profiler.trace.lookup import dense_pair_ids

UNIT = re.compile(r"(?P<name>.*?)\((?P<unit>[^()]*)\)$")
UNITS = {"MHz": "MHz", "KB": "bytes", "MB": "bytes", "MB/s": "bytes/s"}
BYTES = {"KB": 1024.0, "MB": 1024.0**2, "MB/s": 1024.0**2}
"""A megabyte of msprof is 1024² bytes: its databases hold bytes/s, its text files that value
divided by 1024², cut to three decimals."""

ACCELERATOR_ID = "acc_id"
"""A series that holds the number of the accelerator to which the values before it belong."""

MAX_NUMBER = 1 << 20

SOURCE = "NPU {}"
FRACTION = "Hit Rate"
"""A metric whose unit is % in text files, but whose values are fractions of 1."""


Keys = tuple[Int32, Int32, Int32, Int64]
"""Track, name, series and accelerator (-1 for none) of each value."""


def convert_counters(columns: EventColumns, strings: Strings) -> None:
    """Replace the counters of a trace by samples of their devices, in place."""
    counters = columns.tables["counters"]
    if not len(counters["time_ns"]):
        return
    number = _numbers(counters["series_code"], counters["value"], strings)
    keys = (counters["track"], counters["name_code"], counters["series_code"], number)
    first, inverse = _distinct(keys)
    is_shown = _is_used(keys, first, inverse, counters["value"])
    is_shown &= counters["series_code"][first] != strings.code(ACCELERATOR_ID)
    selected = is_shown[inverse]
    inverse = (np.cumsum(is_shown) - 1)[inverse[selected]]
    value = counters["value"][selected]
    chosen = zip(*(key[first[is_shown]].tolist() for key in keys), strict=True)
    series = [_series(columns, strings, key) for key in chosen]
    factor = np.array([each.factor for each in series])
    for at, each in enumerate(series):
        if each.may_be_share and np.nanmax(np.abs(value[inverse == at]), initial=0) <= 1:
            factor[at] = 100.0
    source = strings.codes([each.source for each in series])
    metric = strings.codes([each.metric for each in series])
    unit = strings.codes([each.unit for each in series])
    columns.tables["samples"] = {
        "source_code": source[inverse],
        "metric_code": metric[inverse],
        "unit_code": unit[inverse],
        "time_ns": counters["time_ns"][selected],
        "value": value * factor[inverse],
    }
    columns.tables["counters"] = empty_table("counters")


def _numbers(series: Int64, value: Float64, strings: Strings) -> Int64:
    """Per value the number of its accelerator, which is stored in the next row; -1 for none."""
    number = np.full(len(series), -1, np.int64)
    marks = np.flatnonzero(series == strings.code(ACCELERATOR_ID))
    marks = marks[marks > 0]
    number[marks - 1] = np.clip(np.nan_to_num(value[marks], nan=-1), -1, MAX_NUMBER)
    return number


def _distinct(keys: Keys) -> tuple[Int64, Int64]:
    """Position of an example of each series, and per value the number of its series."""
    _, outer = dense_pair_ids(keys[0], keys[1])
    _, inner = dense_pair_ids(keys[2], keys[3])
    return dense_pair_ids(outer, inner)


def _is_used(keys: Keys, first: Int64, inverse: Int64, value: Float64) -> Bools:
    """Whether a series is of no accelerator, or has a value other than 0."""
    is_nonzero = (
        np.bincount(inverse, weights=np.nan_to_num(np.abs(value)), minlength=len(first)) > 0
    )
    is_used: Bools = (keys[3][first] < 0) | is_nonzero
    return is_used


class _Series(Struct, frozen=True):
    source: str
    metric: str
    unit: str
    factor: float
    may_be_share: bool


def _series(columns: EventColumns, strings: Strings, key: tuple[int, ...]) -> _Series:
    """Source, metric, unit and factor of one key (track, name, series, accelerator)."""
    track, name, series, number = key
    row = columns.tracks[track]
    device = device_of(row) or 0
    metric = strings.texts[name]
    process = row.process_name or ""
    if process and process not in metric:
        metric = f"{process} {metric}"
    if number >= 0:
        metric = f"{metric} {number}"
    label = strings.texts[series]
    match = UNIT.match(label)
    unit = match["unit"] if match else label if label in UNITS else ""
    factor = BYTES.get(unit, 1.0)
    return _Series(SOURCE.format(device), metric, UNITS.get(unit, unit), factor, FRACTION in label)
