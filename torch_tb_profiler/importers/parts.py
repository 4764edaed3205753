"""A part of a recording, as people name it: by time or by steps.

Which events belong to it is in :mod:`torch_tb_profiler.importers.cutting`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from msgspec import Struct

Unit = Literal["us", "steps"]

END_NS = 2**62
"""The end of a part that has none: later than every event."""

_MARK = "/only "
_TIME = r"\d{1,15}(?:\.\d{1,3})?"
_TIMES = re.compile(rf"\s*({_TIME})?\s*:\s*({_TIME})?\s*", re.ASCII)
_STEPS = re.compile(r"\s*(\d{1,18})\s*(?:(?::|-|\.\.)\s*(\d{1,18})\s*)?", re.ASCII)


class RecordingPart(Struct, frozen=True):
    """A part of a recording, as it was asked for.

    Attributes:
        unit: What ``first`` and ``last`` count.
        first: The start, in ns since the first slice begins; or the number of the first step.
        last: The end, in ns, not included; or the number of the last step, included.
    """

    unit: Unit
    first: int
    last: int

    @property
    def text(self) -> str:
        """The part in words: ``steps 5 to 8``, ``10 s to 20 s``."""
        if self.unit == "us":
            return f"{seconds_text(self.first)} to {seconds_text(self.last)}"
        one = self.first == self.last
        return f"step {self.first}" if one else f"steps {self.first} to {self.last}"

    @property
    def variant(self) -> str:
        """The part as text, for cache keys."""
        return f"{_MARK}{self.unit} {self.first}:{self.last}"

    @classmethod
    def from_variant(cls, variant: str) -> RecordingPart | None:
        """The part in a text that ends with :attr:`variant`; None without one."""
        _, mark, text = variant.partition(_MARK)
        if not mark:
            return None
        unit, _, ends = text.partition(" ")
        first, _, last = ends.partition(":")
        return cls("us" if unit == "us" else "steps", int(first), int(last))

    @classmethod
    def parse(cls, unit: Unit, text: str) -> RecordingPart:
        """The part that a person wrote: ``A:B`` in µs, either end optional; or ``A``, ``A:B``
        steps.

        Raises:
            ValueError: it is malformed or empty; the message says how to write it.
        """
        match = (_TIMES if unit == "us" else _STEPS).fullmatch(text)
        if unit == "us":
            if match is None or match[1] is match[2] is None:
                raise ValueError(
                    f"{text!r} is no range of microseconds: write START:END, such as "
                    "10000000:20000000 for the eleventh to the twentieth second."
                )
            start, end = map(_ns, match.groups())
            part = cls(unit, start or 0, END_NS if end is None else end)
        else:
            if match is None:
                raise ValueError(f"{text!r} names no steps: write 5 or 5-8.")
            part = cls(unit, int(match[1]), int(match[2] or match[1]))
        if part.last < part.first or (unit == "us" and part.last == part.first):
            raise ValueError(f"{text!r} ends before it starts.")
        return part


def _ns(us: str | None) -> int | None:
    return None if us is None else int(1000 * Decimal(us))


def seconds_text(ns: int) -> str:
    """A time in seconds, exactly."""
    if ns >= END_NS:
        return "the end"
    return f"{Decimal(ns).scaleb(-9).normalize():f} s"
