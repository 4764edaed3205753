"""A CSV file as text columns; headers match regardless of case, spaces and unit.

Headers change between releases (``Block Dim`` became ``Block Num``, ``Device_id`` was added), times
end with a tab, shapes are quoted, and call stacks contain line breaks.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64

UNIT = re.compile(r"\((?:us|ms|s|ns|kb|mb|gb|%|mb/s|gb/s|byte)\)$")
NON_ALPHANUMERIC = re.compile(r"[^0-9a-z]")
NULL_TEXTS = ("", "N/A", "NA", "null", "None")
MAX_NUMBER = 1e290
"""Times any factor of a unit it is finite."""

DECIMAL_US = r"^\s*(\d{1,16})(?:\.(\d{1,3})\d*)?\s*$"


def normal_header(header: str) -> str:
    """``"Duration(us)"`` → ``"duration"``, ``"Device_id"`` → ``"deviceid"``."""
    return NON_ALPHANUMERIC.sub("", UNIT.sub("", header.strip().lower()))


def _cells(line: str) -> list[str]:
    """The cells of a line; none where one is longer than the reader takes."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _line_by_line(text: str) -> pl.DataFrame:
    """The rows of a file that is no CSV as a whole: a quote that does not close ends with its line,
    so that it damages no other. A row of another length than the header has no known cells."""
    lines = filter(str.strip, text.splitlines())
    headers = list(dict.fromkeys(_cells(next(lines, ""))))
    rows = map(_cells, lines)
    cells = [row if len(row) == len(headers) else [None] * len(headers) for row in rows]
    return pl.DataFrame(cells, schema=dict.fromkeys(headers, pl.String), orient="row")


def _without_long_lines(data: bytes, source: Source) -> bytes:
    """The text without lines that no row has, which would take many times their memory."""
    most = source.budget.count("line_bytes")
    if len(data) <= most:
        return data
    lines = data.split(b"\n")
    fitting = [line for line in lines if len(line) <= most]
    left_out = len(lines) - len(fitting)
    source.quality.add("line_left_out", left_out, source.budget.described("line_bytes"))
    return b"\n".join(fitting) if left_out else data


class CsvTable:
    """The rows of a file.

    Attributes:
        headers: Normalised header → header as written in the file.
        height: Number of rows.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self.headers: dict[str, str] = {}
        for header in frame.columns:
            self.headers.setdefault(normal_header(header), header)
        self.height = frame.height

    @classmethod
    def read(cls, source: Source) -> CsvTable:
        """Read a whole file.

        Raises:
            StorageError, OSError: it cannot be read.
            ValueError: it is not a CSV file.
        """
        data = b"".join(source.unpacked())
        if not data.strip() or b"\0" in data[:4096]:
            raise ValueError("the file is empty or is not text")
        data = _without_long_lines(data, source)
        try:
            frame = pl.read_csv(
                io.BytesIO(data),
                infer_schema=False,
                encoding="utf8-lossy",
                truncate_ragged_lines=True,
                null_values=list(NULL_TEXTS),
            )
        except (pl.exceptions.PolarsError, ValueError) as error:
            frame = _line_by_line(data.decode("utf-8-sig", errors="replace"))
            if frame.is_empty():
                raise ValueError(str(error).partition("\n")[0][:100]) from None
        return cls(frame)

    def has(self, *headers: str) -> bool:
        """Whether the file has all of these columns, in any spelling."""
        return all(normal_header(each) in self.headers for each in headers)

    def texts(self, *spellings: str) -> pl.Series:
        """The first of these columns that the file has, else nulls."""
        for spelling in spellings:
            header = self.headers.get(normal_header(spelling))
            if header is not None:
                column: pl.Series = self._frame[header].str.strip_chars()
                return column.set(column.is_in(list(NULL_TEXTS)), None)
        return pl.Series([None] * self.height, dtype=pl.String)

    def numbers(self, *spellings: str) -> Float64:
        """The same column as numbers; NaN where a text is not a number, or is one that no factor of
        a unit leaves finite."""
        cast = self.texts(*spellings).cast(pl.Float64, strict=False)
        numbers: Float64 = cast.fill_null(np.nan).to_numpy().astype(np.float64)
        return np.where(np.abs(numbers) < MAX_NUMBER, numbers, np.nan)

    def amounts(self, *spellings: str) -> pl.Series:
        """The same column as finite numbers; null where a text is not one."""
        number = pl.DataFrame({"cell": self.texts(*spellings).cast(pl.Float64, strict=False)})
        return number.select(pl.when(pl.col("cell").is_finite()).then("cell")).to_series()

    def integers(self, *spellings: str) -> Int64:
        """The same column as integers; ABSENT where a text is not an integer."""
        cast = self.texts(*spellings).cast(pl.Int64, strict=False)
        integers: Int64 = cast.fill_null(int(ABSENT)).to_numpy().astype(np.int64)
        return integers

    def times_ns(self, *spellings: str) -> Int64:
        """The same column of times in µs, exact to 0.001, as ns; ABSENT where a text is not a
        time."""
        text = self.texts(*spellings)
        parts = pl.DataFrame({"text": text}).select(
            whole=pl.col("text").str.extract(DECIMAL_US, 1).cast(pl.Int64, strict=False),
            rest=pl.col("text").str.extract(DECIMAL_US, 2).fill_null("").str.pad_end(3, "0"),
        )
        ns = parts["whole"] * 1000 + parts["rest"].cast(pl.Int64, strict=False)
        times: Int64 = ns.fill_null(int(ABSENT)).to_numpy().astype(np.int64)
        return times

    def headers_matching(self, pattern: re.Pattern[str]) -> Sequence[str]:
        """Headers as written in the file that ``pattern`` matches completely."""
        return [header for header in self.headers.values() if pattern.fullmatch(header.strip())]
