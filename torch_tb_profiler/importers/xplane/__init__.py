"""XPlane: profiles of XLA programs (``*.xplane.pb``), by JAX, torch_xla and TensorFlow.

One file is one host of a run: planes of the host and of its devices, each with lines of events.
``space`` and ``metadata`` read what describes events, ``events`` the events in pieces, ``lines``
says what a line holds, ``device_rows`` and ``host_rows`` make slices of them, ``hlo_operators`` the
operators and scopes that device work states. Format: ``docs/format-xplane.md``. The wire format is
in ``protobuf``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.storage.format_detection import FormatDetection
from torch_tb_profiler.storage.names import NamePattern

ENDING = ".xplane.pb"
FILE_ENDINGS = (ENDING, f"{ENDING}.gz")
BY_PRODUCTS = (".trace.json.gz", ".trace.json")
"""Endings of the JSON that XProf derives from a profile, of its first million events at most."""

REPLACEMENT = "\ufffd".encode()
AS_TEXT = "saved_as_text"
AS_TEXT_MESSAGE = (
    "is an XPlane profile that was saved as text: a program replaced its bytes that are not UTF-8 "
    "by U+FFFD, and with them its numbers."
)

_MANY_REPLACEMENTS = 8
_PLANE = re.compile(rb"/(?:device|host):\w")
_FIRST_PLANE = re.compile(
    rb"\x0a[\x00-\xff]{1,5}?(?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12[\x01-\x7f]"
    rb"(?:/[\x21-\x7e]|Task Environment)",
    re.DOTALL,
)
"""Field 1 of ``XSpace`` that begins like an ``XPlane``: an id, perhaps, and a name."""

_LEADING_TAGS = (b"\x0a", b"\x12", b"\x1a", b"\x22")
"""Tags of the fields of ``XSpace``."""


def is_saved_as_text(head: bytes) -> bool:
    """Whether a profile went through a program that reads and writes text."""
    has_lost_bytes = head.count(REPLACEMENT) >= _MANY_REPLACEMENTS
    return has_lost_bytes and head.startswith(b"\x0a") and _PLANE.search(head) is not None


def is_space(head: bytes, name: str) -> bool:
    """Whether a file begins like an ``XSpace``, or is named like one and may be one."""
    if _FIRST_PLANE.match(head) is not None or is_saved_as_text(head):
        return True
    return name.endswith(FILE_ENDINGS) and head.startswith(_LEADING_TAGS)


def detect(head: bytes, _base_name: str, _is_whole: bool) -> FormatDetection:
    """Detect what a file that :func:`is_space` accepts holds."""
    if is_saved_as_text(head):
        return FormatDetection(False, AS_TEXT, AS_TEXT_MESSAGE)
    return FormatDetection(True)


FORMAT = Importer(
    name="xplane",
    title="XPlane profiles of JAX, torch_xla and TensorFlow (.xplane.pb, plain or gzip)",
    label="XPlane",
    module="torch_tb_profiler.importers.xplane.reader",
    sniff=is_space,
    files=(
        NamePattern(
            f"*{ENDING}",
            re.compile(rf"(?P<worker>.*?){re.escape(ENDING)}(?:\.gz)?", re.DOTALL),
        ),
    ),
    endings=FILE_ENDINGS,
    detect=detect,
    replaces=tuple((ending, other) for ending in FILE_ENDINGS for other in BY_PRODUCTS),
    cuts_parts=True,
)
