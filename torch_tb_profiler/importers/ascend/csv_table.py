"""A CSV file as columns of text, looked up by header whatever its case, spaces and unit.

Headers drift between releases (``Block Dim`` became ``Block Num``, ``Device_id`` came), times end
with a tab, shapes are quoted, and call stacks hold line breaks.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64

UNIT = re.compile(r"\((?:us|ms|s|ns|kb|mb|gb|%|mb/s|gb/s|byte)\)$")
NUMBER = re.compile(r"[^0-9a-z]")
NOTHING = ("", "N/A", "NA", "null", "None")
EXACT = r"^\s*(\d{1,16})(?:\.(\d{1,3})\d*)?\s*$"


def normal_header(header: str) -> str:
    """``"Duration(us)"`` → ``"duration"``, ``"Device_id"`` → ``"deviceid"``."""
    return NUMBER.sub("", UNIT.sub("", header.strip().lower()))


class CsvTable:
    """The rows of a file.

    Attributes:
        headers: Normalised header → the header as it is written.
        height: How many rows there are.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self.headers: dict[str, str] = {}
        for header in frame.columns:
            self.headers.setdefault(normal_header(header), header)
        self.height = frame.height

    @classmethod
    def read(cls, source: Source) -> CsvTable:
        """Read a file whole.

        Raises:
            StorageError, OSError: it cannot be read.
            ValueError: it is no CSV.
        """
        data = b"".join(source.unpacked())
        if not data.strip() or b"\0" in data[:4096]:
            raise ValueError("it is empty or no text")
        try:
            frame = pl.read_csv(
                io.BytesIO(data),
                infer_schema=False,
                encoding="utf8-lossy",
                truncate_ragged_lines=True,
                null_values=list(NOTHING),
            )
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise ValueError(str(error).partition("\n")[0][:100]) from None
        return cls(frame)

    def has(self, *headers: str) -> bool:
        """Whether all of these columns (any spelling) are there."""
        return all(normal_header(each) in self.headers for each in headers)

    def texts(self, *spellings: str) -> pl.Series:
        """The first column of these names that is there, else nulls."""
        for spelling in spellings:
            header = self.headers.get(normal_header(spelling))
            if header is not None:
                found: pl.Series = self._frame[header].str.strip_chars()
                return found.set(found.is_in(list(NOTHING)), None)
        return pl.Series([None] * self.height, dtype=pl.String)

    def numbers(self, *spellings: str) -> Float64:
        """The same as numbers; NaN for what is none."""
        cast = self.texts(*spellings).cast(pl.Float64, strict=False)
        numbers: Float64 = cast.fill_null(np.nan).to_numpy().astype(np.float64)
        return numbers

    def integers(self, *spellings: str) -> Int64:
        """The same as whole numbers; ABSENT for what is none."""
        cast = self.texts(*spellings).cast(pl.Int64, strict=False)
        integers: Int64 = cast.fill_null(int(ABSENT)).to_numpy().astype(np.int64)
        return integers

    def times_ns(self, *spellings: str) -> Int64:
        """Times in µs with up to three decimals, exactly, in ns; ABSENT for what is none."""
        text = self.texts(*spellings)
        parts = pl.DataFrame({"text": text}).select(
            whole=pl.col("text").str.extract(EXACT, 1).cast(pl.Int64, strict=False),
            rest=pl.col("text").str.extract(EXACT, 2).fill_null("").str.pad_end(3, "0"),
        )
        ns = parts["whole"] * 1000 + parts["rest"].cast(pl.Int64, strict=False)
        times: Int64 = ns.fill_null(int(ABSENT)).to_numpy().astype(np.int64)
        return times

    def chosen(self, normal: re.Pattern[str]) -> Sequence[str]:
        """Headers, as they are written, whose text a pattern matches whole."""
        return [header for header in self.headers.values() if normal.fullmatch(header.strip())]
