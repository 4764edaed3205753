"""Copies JSON that is one value: dumps, execution traces, rocprofv3's files, tables of a profiler.

The whole text is in memory, and so is the copy.
"""

from __future__ import annotations

import msgspec

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.repair import encode, parse_lenient
from torch_tb_profiler.scrubbing.json_values import GONE, JsonScrubber

_DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def document_copy(text: bytes, scrubber: JsonScrubber, name: str) -> bytes:
    """The copy of a document.

    Args:
        text: The document.
        scrubber: The rules.
        name: The file in messages.

    Raises:
        TraceFormatError: no reader of JSON accepts it.
    """
    try:
        msgspec.json.decode(text)
    except _DECODE_ERRORS:
        return _lenient(text, scrubber, name)
    result = scrubber.value("", text.strip())
    return b"null\n" if result is None else result + b"\n"


def _lenient(text: bytes, scrubber: JsonScrubber, name: str) -> bytes:
    """The copy of a document that only a lenient decoder reads."""
    decoded = text.decode("utf-8", "replace")
    parsed = parse_lenient(decoded, len(decoded) - len(decoded.lstrip()))
    if parsed is None:
        raise TraceFormatError(
            "not_json",
            f"{name} is damaged JSON, of which nothing can be copied.",
            "Copy it again from where it was recorded.",
        )
    result = scrubber.plain(parsed.value)
    return encode(None if result is GONE else result) + b"\n"
