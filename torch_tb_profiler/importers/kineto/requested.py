"""Requested arguments of slices (``ReadOptions.arguments``) → rows of the table ``arguments``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.structs import ABSENT_RAW, ArgumentField, decoder
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.requested_arguments import MAX_VALUE_CHARS, RequestedArguments
from torch_tb_profiler.importers.slice_arguments import MAX_EXACT_INTEGER, one_argument
from torch_tb_profiler.trace.columns import ColumnArrays, Int64
from torch_tb_profiler.trace.quality import QualityReport

Value = tuple[float, int]
"""A number and the code of a text, one of them absent."""

_ABSENT: Value = (np.nan, -1)

_BUILDING = threading.Lock()
_DECODERS: dict[tuple[str, ...], msgspec.json.Decoder[Any]] = {}


def requested_tables(
    requested: RequestedArguments,
    raws: Sequence[msgspec.Raw],
    strings: Interner,
    quality: QualityReport,
) -> list[ColumnArrays]:
    """The rows of ``arguments``, a table per requested name that any slice has.

    Numbers and truth values (1 or 0) are numbers; lists and objects are their JSON text.

    Args:
        requested: What is read.
        raws: The undecoded arguments of all slices of a batch.
        strings: The dictionary; new texts are added.
        quality: Counts repairs, cut texts and values that may be secrets.
    """
    structs = decode_args(_decoder(requested.names), raws, quality)
    tables = []
    for index, name in enumerate(requested.names):
        field = f"f{index}"
        values = [getattr(each, field) for each in structs]
        rows = np.flatnonzero([value is not ABSENT_RAW for value in values])
        if rows.size:
            texts = [bytes(values[row]) for row in rows.tolist()]
            convert = ArgumentConversion(name, requested, strings, quality)
            tables.append(_table(rows, strings[name], list(map(convert.value, texts))))
    return [table for table in tables if table["slice"].size]


def _table(rows: Int64, key_code: int, values: list[Value]) -> ColumnArrays:
    numbers = np.array([number for number, _ in values])
    codes = np.array([code for _, code in values], np.int32)
    present = ~np.isnan(numbers) | (codes >= 0)
    return one_argument(rows[present], key_code, values=numbers[present], text_codes=codes[present])


class ArgumentConversion(dict[bytes, Value]):
    """Converts the values of one argument, each distinct text once."""

    def __init__(
        self,
        name: str,
        requested: RequestedArguments,
        strings: Interner,
        quality: QualityReport,
    ) -> None:
        """Start without values.

        Args:
            name: The argument.
            requested: What is read.
            strings: The dictionary; new texts are added.
            quality: Counts cut texts and values that may be secrets.
        """
        super().__init__()
        self._name = name
        self._requested = requested
        self._strings = strings
        self._quality = quality
        self.value = self.__getitem__

    def __missing__(self, raw: bytes) -> Value:
        self[raw] = value = self._converted(raw)
        return value

    def _converted(self, raw: bytes) -> Value:
        try:
            value = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return _ABSENT
        if value is None:
            return _ABSENT
        if isinstance(value, int | float) and abs(value) <= MAX_EXACT_INTEGER:
            return float(value), -1
        json_text = raw.decode("utf-8", "replace")
        if self._requested.is_secret(self._name, json_text):
            self._quality.add("secret_argument", 1, self._name)
            return _ABSENT
        text = value if isinstance(value, str) else json_text
        self._quality.add("text_cut", int(len(text) > MAX_VALUE_CHARS))
        return np.nan, self._strings[text[:MAX_VALUE_CHARS]]


def _decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """The decoder of some names; one thread builds it, for the reason in ``once.py``."""
    with _BUILDING:
        if names not in _DECODERS:
            fields = {f"f{at}": ArgumentField(name, ABSENT_RAW) for at, name in enumerate(names)}
            built = decoder("RequestedArgs", fields)
            built.decode(b"{}")
            _DECODERS[names] = built
        return _DECODERS[names]
