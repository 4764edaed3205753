"""Inputs and call stacks of operators, from JSON and protobuf → the texts of a trace.

Inputs are listed by parameter, each with one or several tensors:
``{"Input": [[8, 3, 28, 28]], "Filter": [[64, 3, 7, 7]]}``. The trace has them in that order. In
protobuf, ``input_shape_proto`` has field 1: names, field 2: per name a message of messages of
sizes; ``dtype_proto`` has field 1: names, field 2: per name a message of texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from torch_tb_profiler.importers.protobuf.varints import read_varint, signed
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, VARINT, read_field
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ColumnArrays

MAX_TENSORS = 4096
"""Most inputs of an operator; further inputs are left out."""

FRAME = re.compile(r"\s*File [\"'](?P<file>.*)[\"'], line (?P<line>\d+), in (?P<function>.*)")


def format_shapes(shapes: Iterable[Any]) -> str | None:
    """Shapes by parameter, each a list of shapes → ``"[[8, 3, 28, 28], [64, 3, 7, 7]]"``; None if
    there are none."""
    all_shapes = [shape for tensors in shapes if isinstance(tensors, list) for shape in tensors]
    return json.dumps(all_shapes[:MAX_TENSORS]) if all_shapes else None


def format_types(types: Iterable[Any]) -> str | None:
    """Types by parameter, each a list → ``"['float32', 'float32']"``; None if there are none."""
    all_types = [str(dtype) for tensors in types if isinstance(tensors, list) for dtype in tensors]
    return str(all_types[:MAX_TENSORS]) if all_types else None


def format_stack(stack: str) -> str | None:
    """A traceback, outermost call first → frames ``file(line): function`` joined by ``;``,
    innermost first. Any other text stays as it is."""
    lines = stack.splitlines()
    frames = [match for line in lines if (match := FRAME.fullmatch(line)) is not None]
    if not frames:
        return stack.strip() or None
    return ";".join(f"{f['file']}({f['line']}): {f['function']}" for f in reversed(frames))


def parameter_values(parameters: Any) -> Iterable[Any]:
    """The values of a JSON object of parameters; empty for any other value."""
    return parameters.values() if isinstance(parameters, Mapping) else ()


def decode_shapes(message: bytes) -> str | None:
    """Shapes by parameter, in the order of the message."""
    return format_shapes(
        [list(_sizes(shape)) for shape in _submessages(tensors, 1)]
        for tensors in _submessages(message, 2)
    )


def decode_types(message: bytes) -> str | None:
    """Types by parameter, in the order of the message."""
    return format_types(
        [text.decode("utf-8", "replace") for text in _submessages(tensors, 1)]
        for tensors in _submessages(message, 2)
    )


def give_to_operators(inputs: ColumnArrays, slices: ColumnArrays) -> None:
    """Move inputs that a part of an operator has (``infer_shape``) to the operator, in place: the
    last one to begin before the part, where it lasts that long.

    Args:
        inputs: The operator table.
        slices: The slices that its column ``slice`` is of.
    """
    is_operator = slices["category"] == Category.OPERATOR
    rows = np.flatnonzero(~is_operator[inputs["slice"]])
    operators = np.flatnonzero(is_operator)
    if not len(rows) or not len(operators):
        return
    track, start = slices["track"], slices["start_ns"]
    operators = operators[np.lexsort((start[operators], track[operators]))]
    both = np.concatenate((operators, inputs["slice"][rows]))
    is_part = np.arange(len(both)) >= len(operators)
    order = np.lexsort((is_part, start[both], track[both]))
    last = np.empty(len(both), np.int64)
    last[order] = np.cumsum(~is_part[order]) - 1
    part, operator = inputs["slice"][rows], operators[last[len(operators) :]]
    lies_in = (last[len(operators) :] >= 0) & (track[operator] == track[part])
    lies_in &= start[part] <= start[operator] + slices["dur_ns"][operator]
    lies_in &= ~np.isin(operator, inputs["slice"])
    inputs["slice"][rows[lies_in]] = operator[lies_in]
    order = np.argsort(inputs["slice"], kind="stable")
    for name in inputs:
        inputs[name] = inputs[name][order]


def _submessages(message: bytes, number: int) -> Iterator[bytes]:
    """The delimited fields with this number, up to the first damage."""
    at = 0
    while at < len(message) and (field := read_field(message, at, len(message))) is not None:
        field_number, wire_type, _, start, at = field
        if (field_number, wire_type) == (number, DELIMITED):
            yield message[start:at]


def _sizes(shape: bytes) -> Iterator[int]:
    """The integers of field 1, packed or not."""
    at = 0
    while at < len(shape) and (field := read_field(shape, at, len(shape))) is not None:
        number, wire_type, value, start, at = field
        if (number, wire_type) == (1, VARINT):
            yield value
        while (number, wire_type) == (1, DELIMITED) and start < at:
            value, start = read_varint(shape, start, at)
            if not start:
                break
            yield signed(value)
