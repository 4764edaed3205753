"""What is needed of decoded events to make columns of them, whoever decoded them.

Two decoders answer these questions with equal columns: msgspec's, with a struct per event
(:mod:`~torch_tb_profiler.importers.kineto.event_structs`), and the compiled one, with an array per
field (:mod:`~torch_tb_profiler.importers.kineto.event_arrays`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.times import Times
from torch_tb_profiler.importers.kineto.values import INT64_MAX, Interner
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

Mask = npt.NDArray[np.bool_]

Group = tuple[Any, Any, Any, Any]
"""(phase, category, pid, tid) as decoded, hashable."""


class DecodedArguments(Protocol):
    """The arguments of some events of one kind; fields are named as in
    :mod:`~torch_tb_profiler.importers.kineto.structs`."""

    def __len__(self) -> int: ...

    def has_field(self, field: str) -> bool:
        """Whether the field was decoded for this kind of event."""

    def rows_with(self, field: str) -> Mask:
        """Which events have the argument; a null counts only for numbers."""

    def rows_with_other_texts(self) -> Mask:
        """Which may have a text under a key that is not among
        :data:`~torch_tb_profiler.importers.kineto.structs.PROFILER_KEYS`."""

    def integers(
        self, field: str, quality: QualityReport, key: str, maximum: int = INT64_MAX
    ) -> Int64:
        """As :func:`~torch_tb_profiler.importers.kineto.values.int_column`."""

    def floats(self, field: str, quality: QualityReport, key: str) -> Float64:
        """As :func:`~torch_tb_profiler.importers.kineto.values.float_column`."""

    def text_codes(
        self,
        field: str,
        strings: Interner,
        normalize: Callable[[Any], str | None] | None = None,
        extract: Callable[[Any], Any] | None = None,
    ) -> Int32:
        """As :func:`~torch_tb_profiler.importers.kineto.values.text_codes`.

        Args:
            field: A field of any JSON value.
            strings: The dictionary; new texts are added.
            normalize: Converts a value other than None to text.
            extract: Is applied to every value first.
        """

    def list_codes(self, field: str, strings: Interner) -> Int32:
        """As :func:`~torch_tb_profiler.importers.kineto.values.raw_codes`."""

    def raws(self, rows: Sequence[int]) -> list[msgspec.Raw]:
        """All arguments of some of the events, undecoded."""

    def values(self, field: str, rows: Sequence[int]) -> list[Any]:
        """A number of some of the events, as decoded."""


class DecodedEvents(Protocol):
    """Some events of one piece, in file order."""

    def __len__(self) -> int: ...

    def select(self, chosen: Mask) -> DecodedEvents:
        """The chosen ones of these events."""

    def groups(self) -> tuple[Int32, list[Group]]:
        """The group of each event, as index into the distinct groups."""

    def times(self, field: str) -> Times:
        """``ts`` or ``dur``."""

    def text_codes(self, field: str, strings: Interner, absent: str | None = None) -> Int32:
        """``name`` or ``id``, as :func:`~torch_tb_profiler.importers.kineto.values.text_codes`."""

    def values(self, field: str) -> list[Any]:
        """``name``, ``cat``, ``pid`` or ``tid`` of every event, as decoded."""

    def arguments(self, kind: EventKind, quality: QualityReport) -> DecodedArguments:
        """The arguments of these events, which are all of one kind.

        Args:
            kind: Says which fields are decoded.
            quality: Counts repairs.
        """

    def raw_arguments(self) -> list[msgspec.Raw]:
        """The undecoded arguments of every event."""
