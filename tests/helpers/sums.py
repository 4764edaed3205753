"""What a trace sums to, in the form of second readers: readings of a format by something else."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import polars as pl

from torch_tb_profiler.trace.categories import NODE_CATEGORIES, PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.model import Trace

Sums = dict[tuple[Any, ...], tuple[int, float]]
"""Key → how many, and the sum of their values (ns or bytes)."""

NAMING = (*NODE_CATEGORIES, *PYTHON_CATEGORIES)
"""Categories of slices whose external id device work may repeat."""


def add_up(rows: Iterable[tuple[tuple[Any, ...], float]]) -> Sums:
    """The sums of (key, value) rows."""
    values = defaultdict(list)
    for key, value in rows:
        values[key].append(value)
    return {key: (len(each), sum(each)) for key, each in values.items()}


def differences(here: Sums, there: Sums) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """Where two sums differ: key → both. Sums of fractions depend on their order, a little."""
    keys = here.keys() | there.keys()
    both = {key: (here.get(key), there.get(key)) for key in keys}
    return {key: pair for key, pair in both.items() if not _is_same(*pair)}


def _is_same(here: tuple[int, float] | None, there: tuple[int, float] | None) -> bool:
    if here is None or there is None:
        return False
    if isinstance(here[1], int) and isinstance(there[1], int):
        return here == there
    return here[0] == there[0] and math.isclose(here[1], there[1], rel_tol=1e-12)


def slices(trace: Trace, where: pl.Expr | bool = True) -> Sums:
    """All slices, or those of a filter, by (process, thread, name), in ns."""
    rows = _on_tracks(trace, trace.slices.filter(where))
    return _sums(trace, rows, ("pid", "tid", "name_code"), "dur_ns")


def work(trace: Trace) -> Sums:
    """Device work by (device, stream, kind, name), in ns."""
    keys = ("device", "stream", "category", "name_code")
    return _sums(trace, trace.device_work, keys, "dur_ns")


def launches(trace: Trace) -> Sums:
    """Device work by (kind, name of its launch or None), in ns."""
    rows = _with_name_of(trace, trace.device_work, "launch")
    return _sums(trace, rows, ("category", "launch_code"), "dur_ns")


def owners(trace: Trace) -> Sums:
    """Device work whose external id one operator or range has, by (id, name of its owner), in ns.

    The owner of work may be the topmost of several operators with one name, which are one call.
    """
    nodes = trace.slices.filter(pl.col("category").is_in([int(each) for each in NAMING]))
    naming = nodes.filter((pl.col("external_id") > 0) & pl.col("external_id").is_unique())
    ids = trace.slices.select("id", "external_id")
    rows = trace.device_work.join(ids, left_on="slice", right_on="id")
    rows = _with_name_of(trace, rows.join(naming, on="external_id", how="semi"), "owner")
    return _sums(trace, rows, ("external_id", "owner_code"), "dur_ns")


def memory(trace: Trace) -> Sums:
    """Memory events by (type of device, device), in bytes."""
    rows = trace.memory.filter(pl.col("is_oom") == 0)
    return _sums(trace, rows, ("device_type", "device"), "bytes")


def counters(trace: Trace) -> Sums:
    """Values of counters by (process, name, series)."""
    rows = _on_tracks(trace, trace.counters)
    return _sums(trace, rows, ("pid", "name_code", "series_code"), "value")


def samples(trace: Trace, rows: pl.DataFrame | None = None) -> Sums:
    """Values of samples, or of some of them, by (source, metric)."""
    rows = trace.samples if rows is None else rows
    return _sums(trace, rows, ("source_code", "metric_code"), "value")


def instants(trace: Trace) -> Sums:
    """How many instants there are by (process, thread, name)."""
    rows = _on_tracks(trace, trace.instants).with_columns(pl.lit(0).alias("nothing"))
    return _sums(trace, rows, ("pid", "tid", "name_code"), "nothing")


def _on_tracks(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.join(trace.tracks.select("track", "pid", "tid"), on="track")


def _with_name_of(trace: Trace, rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows with the code of the name of the slice that a column refers to."""
    names = trace.slices.select(pl.col("id"), pl.col("name_code").alias(f"{column}_code"))
    return rows.join(names, left_on=column, right_on="id", how="left")


def _sums(trace: Trace, rows: pl.DataFrame, keys: tuple[str, ...], value: str) -> Sums:
    """The sums of rows, with texts in place of codes and names of kinds."""
    summed = rows.group_by(keys).agg(pl.len().alias("how many"), pl.col(value).sum().alias("sum"))
    return {
        tuple(map(lambda key, each: _plain(trace, key, each), keys, row)): (count, total)
        for *row, count, total in summed.iter_rows()
    }


def _plain(trace: Trace, key: str, value: Any) -> Any:
    if key == "category":
        return Category(value).name
    return trace.text(value) if key.endswith("_code") else value
