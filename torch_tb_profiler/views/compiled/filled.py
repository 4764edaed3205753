"""A declared table from its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table, TableSpec
from torch_tb_profiler.views.shares import schema_before


def filled(
    spec: TableSpec, values: Mapping[str, Any], reasons: Mapping[str, str] | None = None
) -> Table:
    """The table in its default order; ``values`` has a sequence for each column, but for those of
    shares."""
    schema = schema_before(spec)
    frame = pl.DataFrame(
        {key: pl.Series(key, values[key], dtype=dtype) for key, dtype in schema.items()}
    )
    return in_default_order(Table(spec, frame, needed(frame, reasons or {})))


def in_us(ns: Int64, among: Int64 | int = 1) -> npt.NDArray[np.float64]:
    """Nanoseconds as µs, each divided among so many; none of which is 0."""
    us: npt.NDArray[np.float64] = ns / (np.asarray(among, np.float64) * NS_PER_US)
    return us


def gathered(texts: Sequence[str | None], indices: Int64) -> pl.Series:
    """The text behind each place, null behind -1."""
    known = pl.Series([*texts, None], dtype=pl.String)
    return known.gather(np.where(indices < 0, len(texts), indices))


def names_behind(trace: Trace, codes: Int64) -> pl.Series:
    """The text behind each code of the trace's dictionary, null behind -1."""
    distinct, index = factorize(codes)
    return gathered([trace.text(code) for code in distinct.tolist()], index)
