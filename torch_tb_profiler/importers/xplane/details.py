"""Texts in which a recorder of GPUs packs the details of kernels and copies.

``regs:32 static_shared:0 dynamic_shared:1024 grid:40,3,1 block:128,1,1 occ_pct:50`` of kernels,
``kind_src:pageable kind_dst:device size:4096 dest:0 async:1`` of copies.
"""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.importers.xplane.stats import NamedStats
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.limits import MAX_BYTES

KERNEL, COPY, SET = "kernel_details", "memcpy_details", "memset_details"

_PAIR = re.compile(r"(\w+):(\S*)")
_MAX_DIGITS = 18


def detail_columns(stats: NamedStats, events: Int64, rows: TraceRows) -> ColumnArrays:
    """The columns of ``device`` that the texts of some events state."""
    kernels = _parsed(stats, KERNEL)
    columns: ColumnArrays = {
        "registers_per_thread": _numbers(kernels, "regs", "registers_per_thread")[events],
        "shared_memory_bytes": _shared(kernels)[events],
        "grid_code": _triples(kernels, "grid", rows)[events],
        "block_code": _triples(kernels, "block", rows)[events],
    }
    size = _numbers(_parsed(stats, COPY), "size")
    filled = _numbers(_parsed(stats, SET), "size", "num_bytes")
    columns["bytes"] = np.where(size == ABSENT, filled, size)[events]
    return columns


class _Parsed:
    """Texts of one kind as pairs, and per event the text that it has."""

    def __init__(self, codes: Int32, texts: list[str]) -> None:
        self.codes = codes
        self.pairs = [dict(_PAIR.findall(text)) for text in texts]


def _parsed(stats: NamedStats, name: str) -> _Parsed:
    return _Parsed(*stats.texts(name))


def _number(text: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if is_number and int(text) <= MAX_BYTES else ABSENT


def _numbers(parsed: _Parsed, *keys: str) -> Int64:
    """Per event the number of the first of ``keys`` that its text has."""
    values = [
        next((_number(pairs[key]) for key in keys if key in pairs), ABSENT)
        for pairs in parsed.pairs
    ]
    column: Int64 = np.array([*values, ABSENT], np.int64)[parsed.codes]
    return column


def _shared(parsed: _Parsed) -> Int64:
    static, dynamic = _numbers(parsed, "static_shared"), _numbers(parsed, "dynamic_shared")
    known = [np.where(each == ABSENT, 0, each) for each in (static, dynamic)]
    return np.where((static == ABSENT) & (dynamic == ABSENT), ABSENT, known[0] + known[1])


def _triples(parsed: _Parsed, key: str, rows: TraceRows) -> Int32:
    """Per event the code of three numbers as text, ``"[40, 3, 1]"``; -1 for none."""
    codes = []
    for pairs in parsed.pairs:
        numbers = [_number(text) for text in pairs.get(key, "").split(",")]
        is_triple = len(numbers) == 3 and ABSENT not in numbers
        codes.append(rows.strings[str(numbers)] if is_triple else -1)
    column: Int32 = np.array([*codes, -1], np.int32)[parsed.codes]
    return column
