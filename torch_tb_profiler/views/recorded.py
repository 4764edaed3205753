"""Tables that a profiler wrote to files of the recording, shown unchanged with the file name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Note, Table, TableSpec

SOURCE = Column("source", "File", "string", None, "File of the recording that this row comes from.")
NOT_IN_FILE = "The file does not contain this value."


def recorded_frame(trace: Trace, name: str) -> pl.DataFrame | None:
    """The rows of a side table with their source; None where the recording has none."""
    side = trace.side.get(name)
    if side is None or side.frame.is_empty():
        return None
    return side.frame.with_columns(pl.lit(side.source, pl.String).alias(SOURCE.key))


def recorded_table(
    spec: TableSpec, frame: pl.DataFrame, reasons: Mapping[str, str] | None = None
) -> Table:
    """Rows of a file as a table; ``reasons`` are for columns that the file does not have."""
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in spec.polars_schema().items())
    all_reasons = dict.fromkeys(shown.columns, NOT_IN_FILE) | dict(reasons or {})
    return Table(spec, shown, needed(shown, all_reasons))


def recorded_notes(tables: Collection[str], selection: Selection) -> tuple[Note, ...]:
    """A note that a selection does not apply to values read from files."""
    if not tables or selection.is_everything:
        return ()
    text = (
        "Values read from files of the recording cover the whole recording, not only the selection."
    )
    return (Note("quality", "recorded_whole", "info", text, {"tables": sorted(tables)}),)
