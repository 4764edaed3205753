"""The rows of a journal as side tables, on the clock of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from torch_tb_profiler.importers.recorder.journal import Journal, Window
from torch_tb_profiler.importers.recorder.values import MAX_TIME_NS
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable


def side_tables(journal: Journal, base_ns: int, source: str) -> tuple[SideTable, ...]:
    """The side tables that have rows.

    Args:
        journal: What was read.
        base_ns: The time that times of the trace count from.
        source: What they were read from, for people.
    """
    frames = {
        "timed_steps": _timed_steps(journal, base_ns),
        "loaders": _loaders(journal),
        "loader_batches": _on_clock(journal.frame("batches"), base_ns),
        "loader_work": _on_clock(journal.frame("work"), base_ns),
    }
    return tuple(
        SideTable(name, source, _declared(frame, name))
        for name, frame in frames.items()
        if not frame.is_empty()
    )


def traced(start_ns: Int64, end_ns: Int64, windows: Iterable[Window]) -> Bools:
    """Which stretches of time overlap a window of the profiler; one without an end lasts on."""
    known = sorted(
        (window.start_ns, MAX_TIME_NS if window.end_ns is None else window.end_ns)
        for window in windows
        if window.start_ns is not None
    )
    if not known:
        return np.zeros(len(start_ns), np.bool_)
    begins, ends = np.array(known, np.int64).T
    until = np.maximum.accumulate(ends)
    before = np.searchsorted(begins, end_ns, side="left")  # so many begin before it ends
    overlaps: Bools = (before > 0) & (until[before - 1] > start_ns)
    return overlaps


def _declared(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """The columns of a side table, of their types."""
    return frame.select(pl.col(name).cast(kind) for name, kind in SIDE_SCHEMAS[table].items())


def _timed_steps(journal: Journal, base_ns: int) -> pl.DataFrame:
    steps = journal.frame("steps")
    start, end = (steps[name].to_numpy() for name in ("start_ns", "end_ns"))
    is_warmup = pl.lit(None, pl.Boolean)
    if journal.warmup_steps is not None:
        place = pl.int_range(pl.len()).over("phase")
        is_warmup = (pl.col("phase") == "train") & (place < journal.warmup_steps)
    slowed = [*journal.windows.values(), *journal.profiled.values()]
    return _on_clock(steps, base_ns).with_columns(
        duration_us=(pl.col("end_ns") - pl.col("start_ns")) / 1e3,
        is_warmup=is_warmup,
        is_traced=pl.Series(traced(start, end, slowed), dtype=pl.Boolean),
    )


def _loaders(journal: Journal) -> pl.DataFrame:
    rows = [{"loader": number, **fields} for number, fields in sorted(journal.loaders.items())]
    return pl.DataFrame(rows, schema=SIDE_SCHEMAS["loaders"])


def _on_clock(frame: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    """With its times and durations in µs too."""
    return frame.with_columns(_in_us(frame.columns, base_ns))


def _in_us(columns: Iterable[str], base_ns: int) -> Iterator[pl.Expr]:
    for name in columns:
        if name.endswith("_ns"):
            from_ns = base_ns if name in ("start_ns", "end_ns") else 0
            yield ((pl.col(name) - from_ns) / 1e3).alias(f"{name.removesuffix('_ns')}_us")
