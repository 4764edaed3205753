"""The values of counters of tracks, which may be increments, in other units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.importers.pftrace.descriptors import Descriptor
from torch_tb_profiler.trace.columns import ColumnArrays, Float64


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
