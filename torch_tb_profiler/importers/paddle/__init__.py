"""Paddle: both exports of its profiler, ``export_protobuf`` (``.pb``) and
``export_chrome_tracing`` (JSON).

JSON files are read by ``importers.kineto`` with the dialect of ``chrome``; protobuf files by
``trees`` and ``nodes`` with ``importers.protobuf``, and merged like Kineto's batches. Definitions:
``docs/format-paddle.md``. Nothing outside the importers, ``storage`` and ``trace`` is imported.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.kineto import detection, is_json
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.format_detection import FormatDetection
from torch_tb_profiler.storage.names import NamePattern

JSON_ENDINGS = (".paddle_trace.json", ".paddle_trace.json.gz")
PROTOBUF_ENDINGS = (".pb", ".pb.gz")

EVENTS_KEY = b'"traceEvents"'
TEXT_VERSION = re.compile(rb'"schemaVersion"\s*:\s*"')
"""PyTorch writes a number instead of a text."""

PROTOBUF_HEAD = re.compile(rb"\x0a[\x01-\x20]\d{1,3}\.\d{1,3}(?:\.\d{1,5})?\x10[\x00-\xff]")
"""Field 1 of ``NodeTreesProto``, a version, and the tag of field 2, a number."""

STAMP = r"_time_(?P<stamp>[0-9]{4}(?:_[0-9]+){5,6})"
"""``_time_2026_11_22_22_18_05_123456``."""


def _names(display: str, stamp: str, ending: str) -> NamePattern:
    """The pattern of names ``<worker><stamp><ending>``."""
    rest = rf"(?P<worker>.*?){stamp}{re.escape(ending)}(?:\.gz)?"
    return NamePattern(display, re.compile(rest, re.DOTALL))


def is_protobuf(head: bytes) -> bool:
    """Whether a file begins like Paddle's ``NodeTreesProto``; other programs write ``.pb`` files
    too."""
    match = PROTOBUF_HEAD.match(head)
    return match is not None and head[1] == len(match[0]) - 4


def is_paddle(head: bytes, name: str) -> bool:
    """Whether a file was written by Paddle, by its first bytes and its name."""
    if is_protobuf(head):
        return True
    if not is_json(head, name):
        return False
    before = text_head(head).partition(EVENTS_KEY)[0]
    return name.endswith(JSON_ENDINGS) or TEXT_VERSION.search(before) is not None


def detect(head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
    """Detect what a file that :func:`is_paddle` accepts holds."""
    return (
        FormatDetection(True) if is_protobuf(head) else detection.detect(head, base_name, is_whole)
    )


FORMAT = Importer(
    name="paddle",
    title="Paddle Profiler recordings (protobuf or JSON)",
    label="Paddle",
    module="torch_tb_profiler.importers.paddle.reader",
    sniff=is_paddle,
    files=(
        _names("*.paddle_trace.pb", f"(?:{STAMP})?", ".paddle_trace.pb"),
        _names("*_time_*.pb", STAMP, ".pb"),
        _names("*.paddle_trace.json", f"(?:{STAMP})?", ".paddle_trace.json"),
    ),
    endings=(".json", ".json.gz", *PROTOBUF_ENDINGS),
    detect=detect,
    replaces=tuple(
        (protobuf, json) for protobuf in (".paddle_trace.pb", ".pb") for json in JSON_ENDINGS
    ),
    finder="torch_tb_profiler.importers.paddle.reader",
    argument_lister="torch_tb_profiler.importers.paddle.reader",
)
