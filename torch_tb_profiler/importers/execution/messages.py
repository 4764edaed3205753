"""The messages of a Chakra file: each follows its length as a varint."""

from __future__ import annotations

import re

_VERSION = re.compile(
    rb"\A(?P<length>[\x00-\x7f]|[\x80-\xff][\x00-\x7f])\x0a(?P<size>.)", re.DOTALL
)
"""A length, then field 1 of ``GlobalMetadata``, the version, with its length."""

_PLAIN = re.compile(rb"[0-9A-Za-z.+_-]{1,40}")


def begins_chakra(head: bytes) -> bool:
    """Whether a file begins with ``GlobalMetadata``: a version, and attributes after it."""
    match = _VERSION.match(head)
    if match is None:
        return False
    at = match.end()
    size = match["size"][0]
    version, after = head[at : at + size], head[at + size : at + size + 1]
    end = match.end("length") + length_of(match["length"])
    is_end = at + size == end
    return _PLAIN.fullmatch(version) is not None and (is_end or after == b"\x12")


def length_of(varint: bytes) -> int:
    """The value of a varint of at most two bytes."""
    return varint[0] & 0x7F | (varint[1] << 7 if len(varint) > 1 else 0)
