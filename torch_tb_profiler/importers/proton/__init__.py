"""Proton, Triton's profiler (vLLM and others use it): trees of scopes with sums (``.hatchet``, and
``.hatchet_msgpack``), and Chrome traces (``.chrome_trace``).

``tree`` reads a tree into columns, ``layout`` makes slices of its sums, ``chrome`` is the dialect
of its Chrome JSON, which ``importers.kineto`` reads. Format: ``docs/format-proton.md``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.kineto import detection, is_json
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.format_detection import FormatDetection
from torch_tb_profiler.storage.names import NamePattern

JSON_ENDING, PACKED_ENDING, CHROME_ENDING = ".hatchet", ".hatchet_msgpack", ".chrome_trace"
TREE_ENDINGS = tuple(
    f"{ending}{packing}" for ending in (JSON_ENDING, PACKED_ENDING) for packing in ("", ".gz")
)
CHROME_ENDINGS = (CHROME_ENDING, f"{CHROME_ENDING}.gz")

PACKED_HEAD = re.compile(rb"[\x90-\x9f]\x83\xa5frame\x82\xa4name")
"""A list in MessagePack whose first item is a frame."""

_TREE = re.compile(rb'\[\s*\{\s*"(?:children|frame|metrics)"\s*:')
_FRAME = re.compile(rb'"frame"\s*:\s*\{\s*"(?:name|type)"\s*:')
_ROOT_STACK = re.compile(rb'"call_stack"\s*:\s*\[\s*"ROOT"')


def is_tree(head: bytes, _name: str) -> bool:
    """Whether a file begins like a tree of Proton."""
    if PACKED_HEAD.match(head) is not None:
        return True
    text = text_head(head)
    return _TREE.match(text) is not None and (
        _FRAME.search(text) is not None or (text.startswith(b"[") and b'"children"' in text[:64])
    )


def is_chrome(head: bytes, name: str) -> bool:
    """Whether a file is Chrome JSON of Proton: by its name, or by the call stacks of its events."""
    if not is_json(head, name):
        return False
    return name.endswith(CHROME_ENDINGS) or _ROOT_STACK.search(text_head(head)) is not None


def detect_chrome(head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
    """Detect what a file that :func:`is_chrome` accepts holds."""
    return detection.detect(head, base_name, is_whole)


def _names(ending: str) -> NamePattern:
    """Names ``<worker><ending>[.gz]``."""
    rest = rf"(?P<worker>.*?){re.escape(ending)}(?:\.gz)?"
    return NamePattern(f"*{ending}", re.compile(rest, re.DOTALL), is_free=True)


TREE_FORMAT = Importer(
    name="proton",
    title="Proton profiles (.hatchet, .hatchet_msgpack)",
    label="Proton",
    module="torch_tb_profiler.importers.proton.reader",
    sniff=is_tree,
    files=(_names(JSON_ENDING), _names(PACKED_ENDING)),
    endings=(*TREE_ENDINGS, ".json", ".json.gz"),
)
CHROME_FORMAT = Importer(
    name="proton-chrome",
    title="Proton's Chrome traces (.chrome_trace)",
    label="Proton",
    module="torch_tb_profiler.importers.proton.chrome",
    sniff=is_chrome,
    files=(_names(CHROME_ENDING),),
    endings=(*CHROME_ENDINGS, ".json", ".json.gz"),
    detect=detect_chrome,
    finder="torch_tb_profiler.importers.proton.chrome",
    cuts_parts=True,
)
