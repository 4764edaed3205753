"""Microseconds in a file → exact int64 nanoseconds.

Five forms occur: whole µs, µs with three decimals, either of them as text, absolute µs with
decimals, whose 19 digits exceed a double, and the same without leading zeros in the decimals:
``.5`` for 5 ns, ``.50`` for 50 ns. So times never pass through a double; their digits are parsed
vectorized.
"""

from __future__ import annotations

import re
from decimal import Decimal, DecimalException

import msgspec
import numpy as np

from torch_tb_profiler.importers.kineto.digits import DecimalNumbers
from torch_tb_profiler.trace.columns import ABSENT, Int64

MAX_DIGITS = 20
"""Far more digits before or after the point than any time has."""

OVERFLOW_NS = 2**63 - 1
"""Represents a time that is too large; its negative one that is too small."""

NUMBER_START = re.compile(rb"-?\d")
SHORT_DECIMALS = re.compile(rb'"ts"\s*:\s*\d{14,}\.\d{1,2}\s*[,}]')
TIME = re.compile(rb'"(?:(ts)|dur)"\s*:\s*(?:(?(1)\d{14,}|\d+)\.(\d+)\s*[,}])?')
LESS_THAN_THREE = re.compile(rb"(-?\d{1,20}\.)(?!0+\Z)(\d{1,2})")
UNPADDED = re.compile(rb"0|[1-9]\d{0,2}")
BASE_KEY = b'"baseTimeNanoseconds"'


class Times(msgspec.Struct):
    """Times in nanoseconds; :data:`ABSENT` where there is no usable one.

    Attributes:
        ns: The times; plus or minus :data:`OVERFLOW_NS` for those that do not fit into int64.
        has_fraction: Whether any is not a whole number of microseconds.
        strings: How many were written as text.
    """

    ns: Int64
    has_fraction: bool
    strings: int


def text_to_ns(text: str) -> int:
    """Microseconds in decimal text as nanoseconds; :data:`ABSENT` if it is not a time."""
    try:
        number = Decimal(text.strip())
    except (DecimalException, ValueError):
        return ABSENT
    return _decimal_to_ns(number)


def _decimal_to_ns(number: Decimal) -> int:
    if number.is_nan():
        return ABSENT
    if number.is_infinite() or number.adjusted() >= MAX_DIGITS:
        return -OVERFLOW_NS if number.is_signed() else OVERFLOW_NS
    if number.adjusted() < -MAX_DIGITS:
        return 0
    ns = int((number * 1000).to_integral_value())
    return min(max(ns, -OVERFLOW_NS), OVERFLOW_NS)


def raw_to_ns(raw: bytes) -> int:
    """One undecoded time as nanoseconds; :data:`ABSENT` if it is not a time."""
    if NUMBER_START.match(raw):
        return text_to_ns(raw.decode("ascii"))
    if not raw.startswith(b'"'):
        return ABSENT
    try:
        return text_to_ns(msgspec.json.decode(raw, type=str))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ABSENT


def to_ns(raws: list[msgspec.Raw]) -> Times:
    """Parse undecoded values of ``ts`` or ``dur``, rounding half to even.

    Args:
        raws: JSON numbers, text, or anything else in a damaged file; empty for an absent one.
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
        # Vectorize numbers parsed as text, too: Ascend's tools write every start so.
        quoted = odd[is_text]
        parsed = DecimalNumbers([other[1:-1] for other in others if other.startswith(b'"')])
        ns[quoted] = parsed.thousandths
        fraction |= parsed.has_fraction
        is_done = np.zeros(len(raws), np.bool_)
        is_done[quoted[parsed.is_plain]] = True
        odd = odd[~is_done[odd]]
    for row in odd.tolist():
        ns[row] = raw_to_ns(bytes(raws[row]))
        fraction |= bool(ns[row] != ABSENT and ns[row] % 1000)
    return Times(ns, fraction, int(is_text.sum()))


def has_unpadded_decimals(header: bytes, head: bytes) -> bool:
    """Whether a file was written by a PyTorch nightly of 2024-03-18 to 04-03.

    Only the times themselves show it. In these files all are absolute, and the digits after the
    point are nanoseconds, 0 to 999, without leading zeros. Decimals of a rewritten file do not end
    in zeros, and decimals of fixed width all have the same length: so only decimals of one key that
    differ in length and end in zeros prove this form. A file of few events may lack the proof; then
    its times are read as ordinary decimals.

    Args:
        header: The text before the events.
        head: The first events, truncated anywhere.
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
    """Restore the leading zeros of the decimals of such a time: 10.50 → 10.050."""
    match = LESS_THAN_THREE.fullmatch(bytes(raw))
    return raw if match is None else msgspec.Raw(match[1] + match[2].rjust(3, b"0"))
