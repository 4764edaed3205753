"""Markers of PyProf and DLProf: dicts of Python that tell a call, its inputs and its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch_tb_profiler.importers.nsys.literals import dict_literal

_PLACE = re.compile(r"(.+):(\d+)")
_MOST_INPUTS = 1000
_LONGEST_VALUE = 200


@dataclass(frozen=True, slots=True)
class PyProfMarker:
    """What a marker tells.

    Attributes:
        name: Of the function or method (``torch.nn.functional.linear``), or of the module.
        is_operator: It tells a call of a function.
        input_shape: ``"[[8, 16], []]"``; None where it tells no inputs.
        input_type: ``"['float32', 'Scalar']"``.
        concrete_inputs: Values of inputs that are no tensors, empty texts for tensors.
        call_stack: Frames ``file(line): ``, innermost first, joined by ``;``.
    """

    name: str
    is_operator: bool
    input_shape: str | None = None
    input_type: str | None = None
    concrete_inputs: str | None = None
    call_stack: str | None = None


def pyprof_marker(text: str) -> PyProfMarker | None:
    """The marker that a text is, None for other texts and damaged ones."""
    told = dict_literal(text)
    if told is None:
        return None
    module, function = _dotted(told.get("mod")), _dotted(told.get("op"))
    if function is not None:
        inputs = _inputs(told.get("args"))
        name = function if module is None else f"{module}.{function}"
        return PyProfMarker(name, True, *inputs)
    stack = _call_stack(told.get("traceMarker"))
    place = _dotted(told.get("funcStack")) or module
    if stack is not None:
        return PyProfMarker(place or stack.partition(";")[0], False, call_stack=stack)
    return None if place is None else PyProfMarker(place, False)


def _dotted(value: Any) -> str | None:
    """A name, or the parts of one."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return ".".join(value) or None
    return None


def _inputs(arguments: Any) -> tuple[str | None, str | None, str | None]:
    """Shapes, types and values, as texts of lists."""
    if not isinstance(arguments, (list, tuple)) or len(arguments) > _MOST_INPUTS:
        return None, None, None
    told = [each for each in arguments if isinstance(each, dict)]
    if not told:
        return None, None, None
    shapes = [_shape(each) for each in told]
    types = ["Scalar" if shape is None else str(each.get("dtype") or "")
             for each, shape in zip(told, shapes, strict=True)]  # fmt: skip
    values = ["" if shape is not None else str(each.get("value", ""))[:_LONGEST_VALUE]
              for each, shape in zip(told, shapes, strict=True)]  # fmt: skip
    return str([shape or [] for shape in shapes]), str(types), str(values)


def _shape(argument: dict[Any, Any]) -> list[int] | None:
    shape = argument.get("shape")
    if not isinstance(shape, (list, tuple)):
        return None
    return [size for size in shape if isinstance(size, int)]


def _call_stack(places: Any) -> str | None:
    """The frames of ``['file:line', …]``, which PyProf writes outermost first."""
    if not isinstance(places, (list, tuple)):
        return None
    frames = [_frame(place) for place in _texts(places)]
    return ";".join(reversed(frames)) or None


def _texts(values: Iterable[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _frame(place: str) -> str:
    place = place.replace(";", ",")
    found = _PLACE.fullmatch(place)
    return place if found is None else f"{found[1]}({found[2]}): "
