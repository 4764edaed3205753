"""Estimate the memory of an open trace: its tables and strings, and the values derived from it.

The estimate takes milliseconds: buffers are counted exactly, each once however many arrays and
frames share it; of large collections of Python objects a part is measured and extrapolated.
"""

from __future__ import annotations

import sys
from collections.abc import Sized
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.knowledge.user_rules import UserRules
from torch_tb_profiler.loading.opening.stored_answers import StoredAnswers
from torch_tb_profiler.trace.info import ProcessGroup
from torch_tb_profiler.trace.model import Trace

STRING_OVERHEAD_BYTES = 57
"""Memory of one Python string besides its characters, including the pointer to it."""

OBJECT_BYTES = 96
"""Approximate memory of a frame, a column or an array besides its buffers."""

MAX_MEASURED = 1000
"""Elements of a collection that are measured."""


class TraceMemory(Struct, frozen=True):
    """Bytes of a trace.

    Attributes:
        content_bytes: Its content.
        derived_bytes: Values derived from it, which could be dropped.
    """

    content_bytes: int
    derived_bytes: int


def memory_of(trace: Trace) -> TraceMemory:
    """The approximate memory of ``trace``."""
    strings = sum(len(text) + STRING_OVERHEAD_BYTES for text in trace.strings)
    tables, derived = _measured(trace)
    return TraceMemory(strings + tables, derived)


def derived_bytes_of(trace: Trace) -> int:
    """The growing part of :func:`memory_of`; the strings need not be measured for it."""
    return _measured(trace)[1]


def _measured(trace: Trace) -> tuple[int, int]:
    """Bytes of the content of ``trace``, without strings, and of its derived values."""
    meter = _Meter(trace)
    derived = trace.derived
    content = [getattr(trace, name) for name in trace.__struct_fields__ if name != "derived"]
    content_bytes = sum(map(meter.added_bytes, [*content, *derived.provided]))
    return content_bytes, sum(map(meter.added_bytes, derived.computed))


_LEAVES = (str, bytes, int, float, pl.Series, pl.DataFrame)
"""Values that hold nothing besides what is counted for them."""

_SHARED = (Trace, ProcessGroup, UserRules, StoredAnswers, type, ModuleType, FunctionType)
"""Values that others hold too, or that are counted separately."""


class _Meter:
    """Sums the memory of values, each object and buffer once."""

    def __init__(self, trace: Trace) -> None:
        # Strings are counted separately: hundreds of thousands of them.
        self._seen = {id(trace), id(trace.strings)}
        self._buffers: set[int] = set()

    def added_bytes(self, value: object) -> int:
        """The bytes of ``value`` that no earlier value holds."""
        total = 0.0
        pending: list[tuple[Any, float]] = [(value, 1.0)]
        while pending:
            value, weight = pending.pop()
            if value is None or isinstance(value, _SHARED) or id(value) in self._seen:
                continue
            self._seen.add(id(value))
            total += weight * self._own_bytes(value)
            parts = _parts(value)
            if parts:
                count = len(value) if isinstance(value, Sized) else len(parts)
                share = weight * max(1.0, count / MAX_MEASURED)
                pending += [(part, share) for part in parts]
        return int(total)

    def _own_bytes(self, value: Any) -> int:
        if isinstance(value, np.ndarray):
            return self._array_bytes(value)
        if isinstance(value, pl.Series):
            return OBJECT_BYTES + self._column_bytes(value)
        if isinstance(value, pl.DataFrame):
            if not value.height:  # ten of the tables of a summary
                return OBJECT_BYTES
            return OBJECT_BYTES + sum(map(self._column_bytes, value.get_columns()))
        return sys.getsizeof(value, OBJECT_BYTES)

    def _array_bytes(self, array: np.ndarray[Any, Any]) -> int:
        while isinstance(array.base, np.ndarray):
            array = array.base
        return OBJECT_BYTES + self._buffer_bytes(array)

    def _column_bytes(self, column: pl.Series) -> int:
        try:
            return self._buffer_bytes(column.to_numpy(allow_copy=False))
        except (RuntimeError, ValueError):  # nulls, text or several pieces: no single buffer
            return int(column.estimated_size())

    def _buffer_bytes(self, array: np.ndarray[Any, Any]) -> int:
        address = array.__array_interface__["data"][0]
        if array.nbytes == 0 or address in self._buffers:
            return 0
        self._buffers.add(address)
        return array.nbytes


def _parts(value: Any) -> list[Any]:
    """The elements of ``value``; of a large collection the first ones."""
    if isinstance(value, _LEAVES):
        return []
    if isinstance(value, dict):
        return [each for item in islice(value.items(), MAX_MEASURED) for each in item]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(islice(value, MAX_MEASURED))
    if isinstance(value, np.ndarray):
        return value.ravel()[:MAX_MEASURED].tolist() if value.dtype.hasobject else []
    held = list(getattr(value, "__dict__", {}).values())
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(value, "__struct_fields__", ()), *slots]
    return held + [getattr(value, name, None) for name in names if name[:2] != "__"]
