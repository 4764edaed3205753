"""Answers as JSON: what is declared in this room is encoded as it is declared.

Numbers that JSON cannot write (NaN, infinities) are null; decimals are numbers with all their
digits; text that UTF-8 cannot write (lone surrogates of a file name) gets "?". Control characters
that JSON may hold as they are get escaped all the same: answers are also printed on terminals.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec

SCHEMA_VERSION = 1
"""Version of the shape of every JSON answer. It grows when a key changes its meaning or goes."""


_JSON = msgspec.json.Encoder(decimal_format="number")

_C1 = re.compile(rb"\xc2([\x80-\x9f])")
_DELETE = b"\x7f"


class Answer(msgspec.Struct):
    """What every answer has."""

    schema_version: int = SCHEMA_VERSION


def encode(answer: object) -> bytes:
    """The answer as compact UTF-8 JSON without a line end."""
    try:
        data = _JSON.encode(answer)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(answer, builtin_types=(Decimal,))
        data = _JSON.encode(_without_surrogates(plain))
    if _DELETE in data:
        data = data.replace(_DELETE, rb"\u007f")
    return _C1.sub(lambda match: rb"\u00%02x" % match[1][0], data) if _C1.search(data) else data


def _without_surrogates(value: Any) -> Any:
    """A copy of plain values whose texts UTF-8 can write."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
