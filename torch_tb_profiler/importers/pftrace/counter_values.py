"""The names and values of counters of tracks; values may be increments, in other units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.importers.kineto.batch import UNNAMED
from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, Interner
from torch_tb_profiler.importers.pftrace.descriptors import Descriptor
from torch_tb_profiler.importers.pftrace.units import with_unit
from torch_tb_profiler.trace.columns import ColumnArrays, Float64


def name_counters(
    table: ColumnArrays, descriptors: Sequence[Descriptor | None], strings: Interner
) -> None:
    """Give counters without a name that of their track and its unit, in place.

    Args:
        table: The counters.
        descriptors: Per track its descriptor; None without one.
        strings: The strings of the file; names are added.
    """
    nameless = np.flatnonzero(table["name_code"] < 0)
    if not len(nameless):
        return
    tracks, inverse = np.unique(table["track"][nameless], return_inverse=True)
    owners = [descriptors[track] if track >= 0 else None for track in tracks.tolist()]
    codes = [strings[_name(owner)] for owner in owners]
    table["name_code"][nameless] = np.array(codes, np.int32)[inverse]
    table["series_code"][nameless] = strings[""]


def _name(descriptor: Descriptor | None) -> str:
    name = None if descriptor is None else descriptor.thread_name or descriptor.name
    if descriptor is None or not name:
        return UNNAMED
    return with_unit(name[:MAX_TEXT_CHARS], descriptor.counter_unit)


def absolute_values(table: ColumnArrays, descriptors: Sequence[Descriptor | None]) -> Float64:
    """The values of counters times the factor of their track, increments added up.

    A reset of its sequence begins an incremental counter again, as in Perfetto's trace processor.

    Args:
        table: The counters.
        descriptors: Per track its descriptor; None without one.
    """
    track = table["track"]
    factor = [1 if each is None else each.counter_factor or 1 for each in descriptors]
    is_incremental = [each is not None and each.is_incremental for each in descriptors]
    value: Float64 = table["value"] * np.array([*factor, 1], np.float64)[track]
    rows = np.flatnonzero(np.array([*is_incremental, False])[track])
    if rows.size:
        rows = rows[np.argsort(table["packet"][rows], kind="stable")]
        increments = pl.DataFrame(
            {"track": track[rows], "resets": table["resets"][rows], "value": value[rows]}
        )
        totals = increments.select(pl.col("value").cum_sum().over("track", "resets"))
        value[rows] = totals["value"].to_numpy()
    return value
