"""Microseconds as the file writes them → exact int64 nanoseconds.

Five forms occur: whole µs, µs with three decimals, either as text, absolute µs with decimals, whose
19 digits a double does not hold, and the same without leading zeros: ``.5`` for 5 ns, ``.50`` for
50 ns. So no time ever passes through a double: the digits of all are read at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, DecimalException

import msgspec
import numpy as np

from torch_tb_profiler.importers.kineto.digits import DecimalNumbers
from torch_tb_profiler.trace.columns import ABSENT, Int64

MAX_DIGITS = 20
"""Far more digits before or behind the point than any time has."""

BEYOND_NS = 2**63 - 1
"""Stands for a time too large to hold; its negative for one too small."""

NUMBER_START = re.compile(rb"-?\d")
SHORT_DECIMALS = re.compile(rb'"ts"\s*:\s*\d{14,}\.\d{1,2}\s*[,}]')
TIME = re.compile(rb'"(?:(ts)|dur)"\s*:\s*(?:(?(1)\d{14,}|\d+)\.(\d+)\s*[,}])?')
LESS_THAN_THREE = re.compile(rb"(-?\d{1,20}\.)(?!0+\Z)(\d{1,2})")
UNPADDED = re.compile(rb"0|[1-9]\d{0,2}")
BASE_KEY = b'"baseTimeNanoseconds"'


@dataclass(slots=True)
class Times:
    """Nanoseconds with :data:`ABSENT` where there is no usable time.

    Attributes:
        ns: The times; plus or minus :data:`BEYOND_NS` for those that int64 does not hold.
        has_fraction: Whether any is no whole number of microseconds.
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


def raw_to_ns(raw: bytes) -> int:
    """One time value of any form as nanoseconds; :data:`ABSENT` if it is none."""
    if NUMBER_START.match(raw):
        return text_to_ns(raw.decode("ascii"))
    if not raw.startswith(b'"'):
        return ABSENT
    try:
        return text_to_ns(msgspec.json.decode(raw, type=str))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ABSENT


def to_ns(raws: list[msgspec.Raw]) -> Times:
    """Nanoseconds of the undecoded values of ``ts`` or ``dur``, rounded half to even.

    Args:
        raws: JSON numbers, text, or anything else a damaged file holds; empty for an absent one.
    """
    if not raws:
        return Times(np.empty(0, np.int64), False, 0)
    numbers = DecimalNumbers(raws)
    ns = numbers.thousandths
    odd = np.flatnonzero(~numbers.is_plain)
    if not odd.size:
        return Times(ns, numbers.has_fraction, 0)
    others = [bytes(raws[row]) for row in odd.tolist()]
    is_text = np.array([other.startswith(b'"') for other in others], np.bool_)
    fraction = numbers.has_fraction
    if is_text.any():
        # Digits as text are read at once, too: Ascend's tools write every start so.
        quoted = odd[is_text]
        written = DecimalNumbers([other[1:-1] for other in others if other.startswith(b'"')])
        ns[quoted] = written.thousandths
        fraction |= written.has_fraction
        is_done = np.zeros(len(raws), np.bool_)
        is_done[quoted[written.is_plain]] = True
        odd = odd[~is_done[odd]]
    for row in odd.tolist():
        ns[row] = raw_to_ns(bytes(raws[row]))
        fraction |= bool(ns[row] != ABSENT and ns[row] % 1000)
    return Times(ns, fraction, int(is_text.sum()))


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


def padded(raw: msgspec.Raw) -> msgspec.Raw:
    """A time of such a file with its leading zeros: 10.50 → 10.050."""
    match = LESS_THAN_THREE.fullmatch(bytes(raw))
    return raw if match is None else msgspec.Raw(match[1] + match[2].rjust(3, b"0"))
