"""Events that msgspec decoded, a struct each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import compress
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.decoded import Group, Mask
from torch_tb_profiler.importers.kineto.event_kinds import ARGUMENT_DECODERS, EventKind
from torch_tb_profiler.importers.kineto.structs import Event
from torch_tb_profiler.importers.kineto.times import Times, to_ns
from torch_tb_profiler.importers.kineto.values import (
    INT64_MAX,
    Interner,
    float_column,
    hashable,
    int_column,
    raw_codes,
    text_codes,
    text_of,
)
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport


@cache
def _getter(field: str) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that lists one field of many structs: with the attribute spelled in its code, a
    comprehension takes half the time of ``attrgetter``."""
    assert field.isidentifier()
    getter: Callable[[Sequence[Any]], list[Any]] = eval(
        f"lambda rows: [row.{field} for row in rows]"
    )
    return getter


class StructArguments(msgspec.Struct):
    """Arguments as structs (:class:`~torch_tb_profiler.importers.kineto.decoded.DecodedArguments`).

    Attributes:
        structs: The decoded arguments.
        undecoded: The same, undecoded.
    """

    structs: Sequence[Any]
    undecoded: Sequence[msgspec.Raw] = ()

    def __len__(self) -> int:
        return len(self.structs)

    def has_field(self, field: str) -> bool:
        """Whether the structs have it."""
        return len(self.structs) > 0 and hasattr(self.structs[0], field)

    def rows_with(self, field: str) -> Mask:
        """Which have another value than the default."""
        values = self._values(field)
        absent = type(self.structs[0]).__struct_defaults__
        default = absent[type(self.structs[0]).__struct_fields__.index(field)]
        if values.count(default) == len(values):  # a NaN is equal to itself in a list
            return np.zeros(len(values), np.bool_)
        if default is None:
            return np.array([value is not None for value in values], np.bool_)
        if default == ABSENT:
            return np.array([value != ABSENT for value in values], np.bool_)
        return np.array([value is not default for value in values], np.bool_)

    def rows_with_other_texts(self) -> Mask:
        """Which may have a text that no profiler writes: any."""
        return np.ones(len(self.structs), np.bool_)

    def integers(
        self, field: str, quality: QualityReport, key: str, maximum: int = INT64_MAX
    ) -> Int64:
        """The integers of a field."""
        return int_column(self._values(field), quality, key, maximum)

    def floats(self, field: str, quality: QualityReport, key: str) -> Float64:
        """The numbers of a field."""
        return float_column(self._values(field), quality, key)

    def text_codes(
        self,
        field: str,
        strings: Interner,
        normalize: Callable[[Any], str | None] | None = None,
        extract: Callable[[Any], Any] | None = None,
    ) -> Int32:
        """The codes of the texts of a field."""
        values = self._values(field)
        if extract is not None and values.count(None) != len(values):
            values = list(map(extract, values))
        return text_codes(values, strings, normalize or text_of)

    def list_codes(self, field: str, strings: Interner) -> Int32:
        """The codes of the lists of a field."""
        return raw_codes(self._values(field), strings)

    def raws(self, rows: Sequence[int]) -> list[msgspec.Raw]:
        """Some of the undecoded arguments."""
        return [self.undecoded[row] for row in rows]

    def values(self, field: str, rows: Sequence[int]) -> list[Any]:
        """Some values of a field."""
        values = self._values(field)
        return [values[row] for row in rows]

    def _values(self, field: str) -> list[Any]:
        return _getter(field)(self.structs)


class StructEvents(msgspec.Struct):
    """Events as structs (:class:`~torch_tb_profiler.importers.kineto.decoded.DecodedEvents`)."""

    events: Sequence[Event]

    def __len__(self) -> int:
        return len(self.events)

    def select(self, chosen: Mask) -> StructEvents:
        """The chosen ones of these events."""
        return self if chosen.all() else StructEvents(list(compress(self.events, chosen.tolist())))

    def groups(self) -> tuple[Int32, list[Group]]:
        """The group of each event, and the groups."""
        groups = Interner()
        try:
            codes = [groups[e.ph, e.cat, e.pid, e.tid] for e in self.events]
        except TypeError:  # an id that is a list or an object
            groups.clear()
            keys = attrgetter("ph", "cat", "pid", "tid")
            codes = [groups[tuple(map(hashable, keys(event)))] for event in self.events]
        return np.array(codes, np.int32), list(groups)

    def times(self, field: str) -> Times:
        """``ts`` or ``dur``."""
        return to_ns(self.values(field))

    def text_codes(self, field: str, strings: Interner, absent: str | None = None) -> Int32:
        """The codes of ``name`` or ``id``."""
        return text_codes(self.values(field), strings, absent=absent)

    def values(self, field: str) -> list[Any]:
        """A field of every event."""
        return _getter(field)(self.events)

    def arguments(self, kind: EventKind, quality: QualityReport) -> StructArguments:
        """The decoded arguments of these events."""
        raws = self.raw_arguments()
        return StructArguments(decode_args(ARGUMENT_DECODERS[kind], raws, quality), raws)

    def raw_arguments(self) -> list[msgspec.Raw]:
        """The undecoded arguments of every event."""
        return [event.args for event in self.events]
