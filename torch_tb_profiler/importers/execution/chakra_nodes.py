"""Chakra's ``.et`` → nodes: length-delimited ``GlobalMetadata``, then ``Node`` messages.

Numbers of fields: ``schema/protobuf/et_def.proto`` of mlcommons/chakra.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from torch_tb_profiler.importers.execution.nodes import MAX_ID, ExecutionNode, NodeValues
from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.importers.protobuf.wire import (
    DELIMITED,
    FIXED32,
    FIXED64,
    VARINT,
    read_field,
)
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.quality import QualityReport

MAX_MESSAGE_BYTES = 64 << 20
MAX_LENGTH_BYTES = 10
MAX_LIST_CHARS = 1 << 20
"""Longer texts of inputs are not parsed."""

_ID, _NAME, _TYPE, _CTRL_DEPS, _DATA_DEPS, _START, _DURATION, _INPUTS, _OUTPUTS, _ATTR = range(
    1, 11
)
_PYTHON = re.compile(r"'[^'\\]*'|True|False|None|\(|,?\)")
"""What a list of Python has and JSON has not."""

_CONSTANTS = {"True": "true", "False": "false", "None": "null", "(": "[", ")": "]", ",)": "]"}
_SIGNED = frozenset({7, 9})
_ZIGZAG = frozenset({15, 17})
_BOOL, _STRING = 27, 29
_DOUBLE, _FLOAT = 3, 5


class ChakraNodes:
    """Iterates over the nodes of a file.

    Attributes:
        version: The version in the metadata; None without one.
    """

    def __init__(self, chunks: Iterable[bytes], quality: QualityReport) -> None:
        """Read the metadata.

        Args:
            chunks: The bytes of the file.
            quality: Counts damaged nodes and a truncated file.
        """
        self._quality = quality
        self._messages = _messages(chunks, quality)
        self.version: str | None = None
        for number, wire_type, start, end, data in _fields(next(self._messages, b"")):
            if (number, wire_type) == (1, DELIMITED):
                self.version = data[start:end].decode("utf-8", "replace")[:100]

    def __iter__(self) -> Iterator[ExecutionNode]:
        for message in self._messages:
            node = _node(message)
            if node is None:
                self._quality.add("node_damaged", 1, f"a node of {len(message)} bytes")
            else:
                yield node


def _messages(chunks: Iterable[bytes], quality: QualityReport) -> Iterator[bytes]:
    """The messages of a file, until one is longer than any or reaches beyond the end."""
    buffer, at = b"", 0
    for chunk in chunks:
        buffer, at = buffer[at:] + chunk, 0
        while True:
            length, start = read_varint(buffer, at, len(buffer))
            if not start:
                if len(buffer) - at >= MAX_LENGTH_BYTES:
                    quality.add("truncated")
                    return
                break
            if length > MAX_MESSAGE_BYTES or length < 0:
                quality.add("truncated")
                return
            if start + length > len(buffer):
                break
            yield buffer[start : start + length]
            at = start + length
    if at < len(buffer):
        quality.add("truncated")


def _fields(message: bytes) -> Iterator[tuple[int, int, int, int, bytes]]:
    """(Number, wire type, start, end, message) of each delimited field, and with the value in place
    of the start of any other, until one is damaged."""
    at, size = 0, len(message)
    while at < size:
        field = read_field(message, at, size)
        if field is None:
            return
        number, wire_type, value, start, at = field
        yield number, wire_type, start if wire_type == DELIMITED else value, at, message


def _node(message: bytes) -> ExecutionNode | None:
    """The node of a message; None if it has neither id nor name."""
    numbers: dict[int, int] = {}
    contents: dict[int, bytes] = {}
    parents: list[int] = []
    attributes: dict[str, Any] = {}
    for field, wire_type, value, end, data in _fields(message):
        if field == _CTRL_DEPS:
            parents += _numbers(wire_type, value, end, data)
        elif field == _ATTR and wire_type == DELIMITED:
            attributes |= _attribute(data[value:end])
        elif wire_type == DELIMITED:
            contents[field] = data[value:end]
        elif wire_type == VARINT:
            numbers[field] = value
    name = contents.get(_NAME, b"").decode("utf-8", "replace")
    number = _as_id(numbers.get(_ID, 0))  # an id of 0 is not written
    if number == ABSENT or (_ID not in numbers and not name):
        return None
    return ExecutionNode(
        number,
        name,
        tuple(parents),
        _values(contents.get(_INPUTS, b"")),
        _values(contents.get(_OUTPUTS, b"")),
        attributes,
        numbers.get(_TYPE, 0),
        _as_id(numbers.get(_START, 0)),
        _as_id(numbers.get(_DURATION, 0)),
    )


def _as_id(value: int) -> int:
    """An unsigned integer; :data:`ABSENT` beyond 63 bits."""
    return value if 0 <= value <= MAX_ID else ABSENT


def _numbers(wire_type: int, value: int, end: int, data: bytes) -> list[int]:
    """A repeated varint, packed or not; ids beyond 63 bits are left out."""
    if wire_type == VARINT:
        return [value] if 0 <= value <= MAX_ID else []
    numbers: list[int] = []
    at = value
    while wire_type == DELIMITED and at < end:
        number, after = read_varint(data, at, end)
        if not after:
            break
        if 0 <= number <= MAX_ID:
            numbers.append(number)
        at = after
    return numbers


def _values(message: bytes) -> NodeValues:
    """``IOInfo``: texts of lists."""
    texts = {
        number: message[value:end].decode("utf-8", "replace")
        for number, wire_type, value, end, _ in _fields(message)
        if wire_type == DELIMITED
    }
    return NodeValues(*(_list_of(texts.get(number, "")) for number in (1, 2, 3)))


def _list_of(text: str) -> list[Any]:
    """A list as JSON or as Python writes it; empty for anything else."""
    if not text or len(text) > MAX_LIST_CHARS:
        return []
    for written in (text, _PYTHON.sub(_as_json, text)):
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, list) else []
    return []


def _as_json(match: re.Match[str]) -> str:
    token = match[0]
    return _CONSTANTS.get(token) or json.dumps(token[1:-1])


def _attribute(message: bytes) -> dict[str, Any]:
    """One attribute by its name; empty where its value is a list or damaged."""
    name = ""
    given: Any = None
    for number, wire_type, value, end, data in _fields(message):
        if wire_type == DELIMITED:
            if number == 1:
                name = data[value:end].decode("utf-8", "replace")
            elif number == _STRING:
                given = data[value:end].decode("utf-8", "replace")
        elif number == _DOUBLE and wire_type == FIXED64:
            given = struct.unpack("<d", struct.pack("<q", value))[0]
        elif number == _FLOAT and wire_type == FIXED32:
            given = struct.unpack("<f", struct.pack("<I", value & 0xFFFFFFFF))[0]
        elif number > 1:
            given = _integer(number, value)
    return {name: given} if name and given is not None else {}


def _integer(number: int, value: int) -> int | bool:
    if number == _BOOL:
        return bool(value)
    if number in _SIGNED:
        return value
    unsigned = value & (2**64 - 1)
    return (unsigned >> 1) ^ -(unsigned & 1) if number in _ZIGZAG else unsigned
