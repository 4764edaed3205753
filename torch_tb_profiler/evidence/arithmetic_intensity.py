"""Arithmetic intensity of matrix operators, from the shapes of their inputs.

Operators of low intensity are memory-bound, and matrix units would not help: products with few
rows, as in decoding token by token, and depthwise convolutions.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from torch_tb_profiler.knowledge import dtypes

Shape = list[int]


def flop_per_byte(operator: str, shapes: str | None, types: str | None) -> float | None:
    """Floating-point operations per byte of inputs and result; None if the shapes are unknown.

    Args:
        operator: Name, ``"aten::mm"``.
        shapes: Shapes of the inputs as recorded, ``"[[64, 32], [32, 16]]"``.
        types: Element types of the inputs, ``'["float", "float"]'``.
    """
    pairs = zip(parse_list(shapes), parse_list(types), strict=False)
    inputs = [(_shape(shape), type_) for shape, type_ in pairs]
    tensors = [(shape, type_) for shape, type_ in inputs if shape is not None]
    sizes = [dtypes.size_bytes(type_) for _, type_ in tensors if isinstance(type_, str)]
    size = next((size for size in sizes if size), None)
    if size is None:
        return None
    known = [shape for shape, _ in tensors]
    is_convolution = "conv" in operator.lower()
    counts = _convolution(known) if is_convolution else _product(operator, known)
    return None if counts is None else counts[0] / (counts[1] * size)


def _product(operator: str, shapes: list[Shape]) -> tuple[int, int] | None:
    """Operations and elements of a matrix product; None for unknown shapes."""
    matrices = shapes[1:] if operator.startswith(("aten::add", "aten::badd")) else shapes
    matrices = [shape for shape in matrices if len(shape) > 1]
    if len(matrices) < 2:
        return None
    (*batch, rows, inner), second = matrices[:2]
    if inner not in second[-2:]:  # packed weights: each is read once and multiplied once per row
        return 2 * math.prod(batch) * rows, 1
    columns = second[-1] if second[-2] == inner else second[-2]
    results = math.prod(batch) * rows * columns
    elements = math.prod(matrices[0]) + math.prod(second)
    if "attention" not in operator:  # which keeps the scores on chip
        elements += results
    return (2 * inner * results, elements) if elements else None


def _convolution(shapes: list[Shape]) -> tuple[int, int] | None:
    """Operations and elements of a convolution, assuming that its result has the height and width
    of its input; None for unknown shapes."""
    images = [shape for shape in shapes if len(shape) > 2]
    if len(images) < 2:
        return None
    is_backward = len(images) > 2
    data, weight = (images[1], images[2]) if is_backward else (images[0], images[1])
    results = data[0] * weight[0] * math.prod(data[2:])
    elements = math.prod(data) + math.prod(weight) + results
    return (2 * results * math.prod(weight[1:]), elements) if elements else None


def _shape(value: object) -> Shape | None:
    if not isinstance(value, list) or not value:
        return None
    return value if all(isinstance(size, int) and size >= 0 for size in value) else None


def parse_list(text: str | None) -> list[Any]:
    """Parse a recorded list, ``"[1, 'x']"``; empty for anything else."""
    try:
        value = msgspec.json.decode((text or "[]").replace("'", '"'))
    except msgspec.DecodeError:
        return []
    return value if isinstance(value, list) else []
