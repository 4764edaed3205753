"""Markers of PyProf and DLProf: Python dicts with a call, its inputs and its source location."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from torch_tb_profiler.importers.nsys.literals import dict_literal

_LOCATION = re.compile(r"(.+):(\d+)")
_MAX_INPUTS = 1000
_MAX_VALUE_CHARS = 200


class PyProfMarker(Struct, frozen=True):
    """The content of a marker.

    Attributes:
        name: Name of the function or method (``torch.nn.functional.linear``), or of the module.
        is_operator: Whether it marks a call of a function.
        input_shape: ``"[[8, 16], []]"``; None if it has no inputs.
        input_type: ``"['float32', 'Scalar']"``.
        concrete_inputs: Values of inputs that are not tensors, empty texts for tensors.
        call_stack: Frames ``file(line): ``, innermost first, joined by ``;``.
    """

    name: str
    is_operator: bool
    input_shape: str | None = None
    input_type: str | None = None
    concrete_inputs: str | None = None
    call_stack: str | None = None


def parse_pyprof(text: str) -> PyProfMarker | None:
    """Parse a marker; None for other and for damaged texts."""
    marker = dict_literal(text)
    if marker is None:
        return None
    module, function = _dotted(marker.get("mod")), _dotted(marker.get("op"))
    if function is not None:
        inputs = _inputs(marker.get("args"))
        name = function if module is None else f"{module}.{function}"
        return PyProfMarker(name, True, *inputs)
    stack = _call_stack(marker.get("traceMarker"))
    location = _dotted(marker.get("funcStack")) or module
    if stack is not None:
        return PyProfMarker(location or stack.partition(";")[0], False, call_stack=stack)
    return None if location is None else PyProfMarker(location, False)


def _dotted(value: Any) -> str | None:
    """A name, given whole or in parts."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return ".".join(value) or None
    return None


def _inputs(arguments: Any) -> tuple[str | None, str | None, str | None]:
    """Shapes, types and values of the inputs, as texts of lists."""
    if not isinstance(arguments, (list, tuple)) or len(arguments) > _MAX_INPUTS:
        return None, None, None
    described = [each for each in arguments if isinstance(each, dict)]
    if not described:
        return None, None, None
    shapes = [_shape(each) for each in described]
    types = ["Scalar" if shape is None else str(each.get("dtype") or "")
             for each, shape in zip(described, shapes, strict=True)]  # fmt: skip
    values = ["" if shape is not None else str(each.get("value", ""))[:_MAX_VALUE_CHARS]
              for each, shape in zip(described, shapes, strict=True)]  # fmt: skip
    return str([shape or [] for shape in shapes]), str(types), str(values)


def _shape(argument: dict[Any, Any]) -> list[int] | None:
    shape = argument.get("shape")
    if not isinstance(shape, (list, tuple)):
        return None
    return [size for size in shape if isinstance(size, int)]


def _call_stack(locations: Any) -> str | None:
    """The frames of ``['file:line', …]``, which PyProf writes outermost first."""
    if not isinstance(locations, (list, tuple)):
        return None
    frames = [_frame(location) for location in _texts(locations)]
    return ";".join(reversed(frames)) or None


def _texts(values: Iterable[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _frame(location: str) -> str:
    location = location.replace(";", ",")
    match = _LOCATION.fullmatch(location)
    return location if match is None else f"{match[1]}({match[2]}): "
