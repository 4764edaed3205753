"""Microseconds as the file writes them → exact int64 nanoseconds.

Five forms occur (format reference §1.5): whole µs, µs with three decimals, either as text,
absolute µs with decimals, whose 19 digits a double does not hold and which are therefore read
from the text, and the same without leading zeros: ``.5`` for 5 ns, ``.50`` for 50 ns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Any

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, Int64

EXACT_US = 2.0**42
"""Up to here (51 days) a double of µs is less than a quarter of a nanosecond off."""

MAX_US = (2**63 - 1) // 1000

MAX_DIGITS = 20
"""Far more digits before or behind the point than any time has."""

BEYOND_NS = 2**63 - 1
"""Stands for a time too large to hold; its negative for one too small."""

SHORT_DECIMALS = re.compile(rb'"ts"\s*:\s*\d{14,}\.\d{1,2}\s*[,}]')
TIME = re.compile(rb'"(?:(ts)|dur)"\s*:\s*(?:(?(1)\d{14,}|\d+)\.(\d+)\s*[,}])?')
UNPADDED = re.compile(rb"0|[1-9]\d{0,2}")
BASE_KEY = b'"baseTimeNanoseconds"'


class InexactTimeError(Exception):
    """A time lost digits in a double; the times must be decoded from their text."""


@dataclass(slots=True)
class Times:
    """Nanoseconds with :data:`ABSENT` where there is no usable time.

    Attributes:
        ns: The times; plus or minus :data:`BEYOND_NS` for those that int64 does not hold.
        has_fraction: Whether any was written with decimals.
        strings: How many were written as text.
    """

    ns: Int64
    has_fraction: bool
    strings: int


def text_to_ns(text: str) -> int:
    """Microseconds in decimal text as nanoseconds; :data:`ABSENT` if that is no time."""
    try:
        number = Decimal(text.strip())
    except (DecimalException, ValueError):
        return ABSENT
    return _decimal_to_ns(number)


def _decimal_to_ns(number: Decimal) -> int:
    if number.is_nan():
        return ABSENT
    if number.is_infinite() or number.adjusted() >= MAX_DIGITS:
        return -BEYOND_NS if number.is_signed() else BEYOND_NS
    if number.adjusted() < -MAX_DIGITS:
        return 0
    ns = int((number * 1000).to_integral_value())
    return min(max(ns, -BEYOND_NS), BEYOND_NS)


def value_to_ns(value: Any) -> int:
    """One decoded time value as nanoseconds; :data:`ABSENT` if it is none."""
    if isinstance(value, str):
        return text_to_ns(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(int(value) * 1000, -BEYOND_NS), BEYOND_NS)
    if isinstance(value, float):
        return _decimal_to_ns(Decimal(repr(value)))
    return _decimal_to_ns(value) if isinstance(value, Decimal) else ABSENT


def to_ns(values: list[Any], exact: bool) -> Times:
    """Nanoseconds of decoded ``ts`` or ``dur`` values.

    Args:
        values: Numbers, text, or anything else a damaged file holds.
        exact: The values were decoded without loss (no float stands for a longer text).

    Raises:
        InexactTimeError: a float is too large to tell nanoseconds apart, and ``exact`` is false.
    """
    kinds = set(map(type, values))
    if kinds <= {int}:
        try:
            whole = np.array(values, np.int64)
        except OverflowError:
            whole = None
        if whole is not None and (whole.size == 0 or int(np.abs(whole).max()) <= MAX_US):
            return Times(whole * 1000, False, 0)
    elif kinds <= {int, float}:
        try:
            column = np.array(values, np.float64)
        except OverflowError:
            column = np.array([np.inf])
        if float(np.abs(column).max()) < EXACT_US:
            return Times(np.rint(column * 1000).astype(np.int64), True, 0)
    if not exact and any(type(value) is float and abs(value) >= EXACT_US for value in values):
        raise InexactTimeError
    ns = np.array([value_to_ns(value) for value in values], np.int64)
    fraction = bool(np.any((ns != ABSENT) & (ns % 1000 != 0)))
    return Times(ns, fraction, sum(type(value) is str for value in values))


def has_unpadded_decimals(header: bytes, head: bytes) -> bool:
    """Whether a file was written by a PyTorch nightly of 2024-03-18 to 04-03.

    Nothing but the times themselves tells. In these files all are absolute, and behind the point
    of each stand its nanoseconds, 0 to 999, without leading zeros. Decimals that somebody wrote
    anew end in no zero, and those of a fixed number of digits have all as many: only a key whose
    decimals are of several lengths and end in zeros proves the form. A file of few events may lack
    the proof; its times are read as decimals.

    Args:
        header: The text before the events.
        head: The first events; may end anywhere.
    """
    if BASE_KEY in header or SHORT_DECIMALS.search(head) is None:
        return False
    decimals: dict[bytes, set[bytes]] = {b"ts": set(), b"dur": set()}
    for key, digits in TIME.findall(head, 0, head.rfind(b"}") + 1):
        if UNPADDED.fullmatch(digits) is None:
            return False
        decimals[key or b"dur"].add(digits)
    return any(map(_proves_unpadded, decimals.values()))


def _proves_unpadded(decimals: set[bytes]) -> bool:
    lengths = {len(digits) for digits in decimals if digits != b"0"}
    return len(lengths) > 1 and any(digits[1:].endswith(b"0") for digits in decimals)


def padded(value: Any) -> Any:
    """An exactly decoded time of such a file with its leading zeros: 10.50 → 10.050."""
    if not isinstance(value, Decimal):
        return value
    places = value.as_tuple().exponent
    if places not in (-1, -2) or value.adjusted() >= MAX_DIGITS:
        return value
    fraction = value % 1
    return value - fraction + fraction.scaleb(-3 - places) if fraction else value
