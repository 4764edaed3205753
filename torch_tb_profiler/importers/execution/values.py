"""Values of nodes in the form in which Kineto writes the inputs of operators.

Compared with Kineto's own arguments of the same operators (``tests/importers/execution``): shapes
and types are equal; numbers have the digits that the execution trace has.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from torch_tb_profiler.importers.execution.nodes import NodeValues, as_integer
from torch_tb_profiler.trace.columns import ABSENT

SCALARS = frozenset({"Int", "Bool", "Double", "Float", "Complex", "ComplexDouble", "SymInt"})
UNDEFINED = "nullptr (uninitialized)"
"""The element type of a tensor that is not defined."""

MAX_DEPTH = 8
"""Lists inside one another that are looked through for tensors."""

_TENSOR, _LIST = "Tensor(", "GenericList["


TENSOR_SIZE = 6
"""Length of the list that stands for a tensor."""


class TensorValue(NamedTuple):
    """A tensor as a node names it.

    Attributes:
        tensor: Id of the tensor object.
        storage: Id of its storage.
        offset: Offset into the storage, in elements.
        elements: Number of elements.
        item_bytes: Bytes of an element.
        device: ``"cuda:0"``; None if it is unknown.
    """

    tensor: int
    storage: int
    offset: int
    elements: int
    item_bytes: int
    device: str | None


class InputTexts(NamedTuple):
    """The inputs of an operator as texts of Python lists; None without inputs."""

    shapes: str | None
    types: str | None
    values: str | None


def input_texts(inputs: NodeValues) -> InputTexts:
    """The inputs of a node as Kineto writes ``Input Dims``, ``Input type``, ``Concrete Inputs``."""
    if not inputs.types:
        return InputTexts(None, None, None)
    types = [each if isinstance(each, str) else "" for each in inputs.types]
    shapes = _padded(inputs.shapes, len(types))
    values = _padded(inputs.values, len(types))
    kinds = [_kind(each) for each in types]
    dims = [
        shape if isinstance(shape, list) and kind not in ("Scalar", "ScalarList", "") else []
        for kind, shape in zip(kinds, shapes, strict=True)
    ]
    texts = [_concrete(kind, value) for kind, value in zip(kinds, values, strict=True)]
    return InputTexts(str(dims), str(kinds), str(texts))


def _padded(values: list[Any], size: int) -> list[Any]:
    return (values + [None] * (size - len(values)))[:size]


@lru_cache(maxsize=8192)
def _kind(name: str) -> str:
    """Kineto's name of a type: ``float`` of a tensor, ``TensorList``, ``Scalar``, ``ScalarList``;
    empty for others."""
    if name.startswith(_TENSOR):
        element = name[len(_TENSOR) : -1]
        return "" if element == UNDEFINED else element
    if name in SCALARS:
        return "Scalar"
    if not name.startswith(_LIST):
        return ""
    items = name[len(_LIST) : -1]
    if not items:
        return "ScalarList"
    kinds = items.split(",")
    if all(each.startswith(_TENSOR) for each in kinds):
        return "TensorList"
    return "ScalarList" if all(each in SCALARS for each in kinds) else ""


def _concrete(kind: str, value: Any) -> str:
    is_value = kind in ("Scalar", "ScalarList") and not isinstance(value, str)
    return str(value) if is_value and value is not None else ""


def tensors(values: NodeValues) -> Iterator[TensorValue]:
    """The tensors among some values, those in lists included, in order."""
    for value in values.values:
        if isinstance(value, list):
            yield from _tensors_in(value, MAX_DEPTH)


def _tensors_in(value: list[Any], depth: int) -> Iterator[TensorValue]:
    if depth <= 0:
        return
    if len(value) == TENSOR_SIZE and isinstance(value[-1], str):
        numbers = [as_integer(each) for each in value[:-1]]
        if ABSENT not in numbers:
            tensor, storage, offset, elements, item_bytes = numbers
            yield TensorValue(tensor, storage, offset, elements, item_bytes, value[-1])
        return
    for each in value:
        if isinstance(each, list):
            yield from _tensors_in(each, depth - 1)
