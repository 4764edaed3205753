"""``cpu_ms_memory_record_*.txt``: totals of the memory pool at each of its events, in bytes.

Format: docs/format-mindspore.md#memory.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.importers.mindspore.parsing import UnreadableFileError
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.quality import QualityReport

TOTALS = ("allocated", "reserved", "active")
COLUMNS = ("time_ns", *TOTALS)
"""The columns, in the order of the file."""

_SEPARATOR = r"[,\s|]+"
_NUMBER = r"(\d{1,18})(?:\.0*)?"
_ROW = (
    rf"^\s*(\d{{1,19}}){_SEPARATOR}{_NUMBER}{_SEPARATOR}{_NUMBER}(?:{_SEPARATOR}{_NUMBER})?[,\s|]*$"
)


def read_memory_record(text: str, quality: QualityReport) -> pl.DataFrame:
    """The totals, with the columns of :data:`COLUMNS`, in order of time.

    Raises:
        UnreadableFileError: it has no rows of numbers.
    """
    lines = pl.Series(text.splitlines(), dtype=pl.String)
    lines = lines.filter(lines.str.strip_chars() != "")
    groups = lines.str.extract_groups(_ROW).struct.unnest()
    groups.columns = list(COLUMNS)
    frame = groups.cast(pl.Int64, strict=False)
    is_row = frame["time_ns"].is_not_null()
    if not is_row.any():
        raise UnreadableFileError("it has no rows of numbers")
    # The first line has titles; a row with fewer columns than others is cut.
    is_cut = pl.Series([False] * frame.height)
    if frame["active"].is_not_null().any():
        is_cut = frame["active"].is_null()
    is_good = is_row & ~is_cut
    for name in TOTALS:
        is_good &= frame[name].is_null() | (frame[name] <= MAX_BYTES)
    titles = int(not is_row[0])
    quality.add("side_row_left_out", int((~is_good).sum()) - titles)
    rows: pl.DataFrame = frame.filter(is_good).sort("time_ns", maintain_order=True)
    return rows
