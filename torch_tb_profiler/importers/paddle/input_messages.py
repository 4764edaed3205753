"""Messages about an operator's inputs → texts. Each distinct one is read once, field by field.

``input_shape_proto``: 1 names, 2 per name a message of messages of sizes. ``dtype_proto``: 1 names,
2 per name a message of texts.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_tb_profiler.importers.paddle.inputs import shapes_text, types_text
from torch_tb_profiler.importers.protobuf.varints import read_varint, signed
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, VARINT, read_field


def shapes_of(message: bytes) -> str | None:
    """Shapes by parameter, in the order of the message."""
    return shapes_text(
        [list(_sizes(shape)) for shape in _inner(tensors, 1)] for tensors in _inner(message, 2)
    )


def types_of(message: bytes) -> str | None:
    """Types by parameter, in the order of the message."""
    return types_text(
        [text.decode("utf-8", "replace") for text in _inner(tensors, 1)]
        for tensors in _inner(message, 2)
    )


def _inner(message: bytes, number: int) -> Iterator[bytes]:
    """The delimited fields of a number, as far as the message can be read."""
    at = 0
    while at < len(message) and (found := read_field(message, at, len(message))) is not None:
        own, wire_type, _, start, at = found
        if (own, wire_type) == (number, DELIMITED):
            yield message[start:at]


def _sizes(shape: bytes) -> Iterator[int]:
    """The numbers of field 1, packed or not."""
    at = 0
    while at < len(shape) and (found := read_field(shape, at, len(shape))) is not None:
        number, wire_type, value, start, at = found
        if (number, wire_type) == (1, VARINT):
            yield value
        while (number, wire_type) == (1, DELIMITED) and start < at:
            value, start = read_varint(shape, start, at)
            if not start:
                break
            yield signed(value)
