"""Converts the rows of a journal to side tables, on the clock of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from torch_tb_profiler.importers.recorder.journal import JournalData, ProfilerWindow
from torch_tb_profiler.importers.recorder.values import MAX_TIME_NS
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable


def side_tables(journal: JournalData, base_ns: int, source: str) -> tuple[SideTable, ...]:
    """The side tables that have rows.

    Args:
        journal: The journal.
        base_ns: The time from which the times of the trace count.
        source: The source to show.
    """
    frames = {
        "timed_steps": _timed_steps(journal, base_ns),
        "loaders": _loaders(journal),
        "loader_batches": _with_microseconds(journal.frame("batches"), base_ns),
        "loader_work": _with_microseconds(journal.frame("work"), base_ns),
    }
    return tuple(
        SideTable(name, source, _select_columns(frame, name))
        for name, frame in frames.items()
        if not frame.is_empty()
    )


def overlaps_any(start_ns: Int64, end_ns: Int64, windows: Iterable[ProfilerWindow]) -> Bools:
    """Whether an interval overlaps a window; windows without an end last until the end of the
    run."""
    known = sorted(
        (window.start_ns, MAX_TIME_NS if window.end_ns is None else window.end_ns)
        for window in windows
        if window.start_ns is not None
    )
    if not known:
        return np.zeros(len(start_ns), np.bool_)
    begins, ends = np.array(known, np.int64).T
    until = np.maximum.accumulate(ends)
    # The number of windows that begin before the interval ends.
    before = np.searchsorted(begins, end_ns, side="left")
    overlaps: Bools = (before > 0) & (until[before - 1] > start_ns)
    return overlaps


def _select_columns(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """The columns of a side table, with their types."""
    return frame.select(pl.col(name).cast(kind) for name, kind in SIDE_SCHEMAS[table].items())


def _timed_steps(journal: JournalData, base_ns: int) -> pl.DataFrame:
    steps = journal.frame("steps")
    start, end = (steps[name].to_numpy() for name in ("start_ns", "end_ns"))
    is_warmup = pl.lit(None, pl.Boolean)
    if journal.warmup_steps is not None:
        position = pl.int_range(pl.len()).over("phase")
        is_warmup = (pl.col("phase") == "train") & (position < journal.warmup_steps)
    windows = [*journal.windows.values(), *journal.other_profiling.values()]
    return _with_microseconds(steps, base_ns).with_columns(
        duration_us=(pl.col("end_ns") - pl.col("start_ns")) / 1e3,
        is_warmup=is_warmup,
        is_traced=pl.Series(overlaps_any(start, end, windows), dtype=pl.Boolean),
    )


def _loaders(journal: JournalData) -> pl.DataFrame:
    rows = [{"loader": number, **fields} for number, fields in sorted(journal.loaders.items())]
    return pl.DataFrame(rows, schema=SIDE_SCHEMAS["loaders"])


def _with_microseconds(frame: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    """The frame with times and durations also in µs."""
    return frame.with_columns(_microsecond_columns(frame.columns, base_ns))


def _microsecond_columns(columns: Iterable[str], base_ns: int) -> Iterator[pl.Expr]:
    for name in columns:
        if name.endswith("_ns"):
            from_ns = base_ns if name in ("start_ns", "end_ns") else 0
            yield ((pl.col(name) - from_ns) / 1e3).alias(f"{name.removesuffix('_ns')}_us")
