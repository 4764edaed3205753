"""What was recorded of the inputs of one call: texts → tensors and values.

Recorders differ in what they write (``docs/flops.md#what-is-read``): shapes alone, shapes and
types, or values of arguments too.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from torch_tb_profiler.analysis.efficiency.work.result import Reason, UnknownWorkError
from torch_tb_profiler.knowledge import dtypes, formulas

MAX_TEXT_CHARS = 1 << 20
MAX_DIMENSIONS = 64
MAX_SIZE = 1 << 52
MAX_ELEMENTS = 1 << 60
"""More than any tensor has: such a text is damaged."""

_NO_TENSOR = frozenset(
    (
        *("", "Scalar", "ScalarList", "GenericList", "TensorList", "Int", "Bool", "Double"),
        *("String", "Device", "Generator", "None", "SymInt", "Stream", "IntList", "DoubleList"),
        *("BoolList", "OptionalScalarType", "Object", "Enum", "Tuple"),
    )
)
"""Types of what has no dimensions and is no tensor. PyTorch before 2.0 names kinds of values with
capitals; element types of tensors have C++ names there (``double``)."""

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


class Tensor(msgspec.Struct, frozen=True):
    """Shape and element type of an operand; the type is None where none was recorded."""

    shape: tuple[int, ...]
    dtype: str | None

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int | None:
        """Bytes of all elements; None where the type is unknown."""
        size = None if self.dtype is None else dtypes.size_bytes(self.dtype)
        return None if size is None else self.elements * size


Argument: TypeAlias = Tensor | tuple[Tensor, ...] | None


class Operands(msgspec.Struct, frozen=True):
    """The inputs of one call.

    Attributes:
        arguments: Per argument its tensor, its list of tensors, or None for anything else.
        values: Per argument the text of its value, empty for tensors and where none are recorded.
        has_types: Whether element types are recorded.
        unread_lists: Arguments that are lists of which the recording does not say the members.
        in_place: Whether the call writes into its first argument.
        around: The inputs of the call around it, where they are needed.
        output: The shape of its output, where something else in the recording tells it.
        kernel_dtype: The element type that the name of its kernel tells, where it is needed.
        gradients: Shapes of all gradients that backward nodes take; None where that is not needed.
    """

    arguments: tuple[Argument, ...]
    values: tuple[str, ...] = ()
    has_types: bool = True
    unread_lists: frozenset[int] = frozenset()
    in_place: bool = False
    around: Operands | None = None
    output: tuple[int, ...] | None = None
    kernel_dtype: str | None = None
    gradients: frozenset[tuple[int, ...]] | None = None

    def operand(self, index: int) -> Tensor | None:
        """The tensor at a position, None where there is none."""
        argument = self.arguments[index] if 0 <= index < len(self.arguments) else None
        return argument if isinstance(argument, Tensor) else None

    def tensor(self, index: int) -> Tensor:
        """The tensor at a position.

        Raises:
            UnknownWorkError: there is none.
        """
        tensor = self.operand(index)
        if tensor is None:
            raise UnknownWorkError(Reason.LIST if index in self.unread_lists else Reason.SHAPES)
        return tensor

    def tensors(self, index: int) -> tuple[Tensor, ...]:
        """The list of tensors at a position.

        Raises:
            UnknownWorkError: there is none, or its members were not recorded.
        """
        argument = self.arguments[index] if 0 <= index < len(self.arguments) else None
        if isinstance(argument, Tensor):
            return (argument,)
        if argument is None:
            raise UnknownWorkError(Reason.LIST)
        return argument

    def value(self, index: int) -> str:
        """The text of a value, empty where none was recorded."""
        return self.values[index] if 0 <= index < len(self.values) else ""

    def sizes(self, index: int) -> tuple[int, ...] | None:
        """A list of whole numbers such as a stride; None where it was not recorded."""
        try:
            return tuple(int(part) for part in self.value(index).strip("[]() ").split(","))
        except ValueError:
            return None

    def flag(self, index: int) -> bool | None:
        """A yes or no; None where it was not recorded."""
        return {"True": True, "1": True, "False": False, "0": False}.get(self.value(index))

    def number(self, index: int) -> int | None:
        """A whole number; None where it was not recorded."""
        sizes = self.sizes(index)
        return sizes[0] if sizes is not None and len(sizes) == 1 else None


def read_operands(shapes: str, types: str | None, concrete: str | None) -> Operands:
    """The inputs of a call from what its trace says of them.

    Raises:
        UnknownWorkError: the texts are damaged.
    """
    dimensions = _dimensions(shapes)
    names = quoted(types)
    values = quoted(concrete)
    has_types = bool(names)
    arguments = []
    unread = set()
    for index, dimension in enumerate(dimensions):
        name = names[index] if index < len(names) else ""
        argument = _argument(dimension, name, has_types)
        if argument is None and (name in ("TensorList", "GenericList") or not has_types):
            unread.add(index)
        arguments.append(argument)
    return Operands(tuple(arguments), values, has_types, frozenset(unread))


@lru_cache(maxsize=4096)
def quoted(text: str | None) -> tuple[str, ...]:
    """The texts in ``"['float', '', 'Scalar']"``.

    Raises:
        UnknownWorkError: it is longer than any such text.
    """
    if text is None:
        return ()
    if len(text) > MAX_TEXT_CHARS:
        raise UnknownWorkError(Reason.DAMAGED)
    return tuple(single or double for single, double in _QUOTED.findall(text))


def _dimensions(text: str) -> list[Any]:
    if len(text) > MAX_TEXT_CHARS:
        raise UnknownWorkError(Reason.DAMAGED)
    try:
        dimensions = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise UnknownWorkError(Reason.DAMAGED) from None
    if not isinstance(dimensions, list):
        raise UnknownWorkError(Reason.DAMAGED)
    return dimensions


def _argument(dimensions: Any, name: str, has_types: bool) -> Argument:
    """What one entry of the shapes is. Without types an empty one may be anything."""
    if isinstance(dimensions, list) and dimensions and isinstance(dimensions[0], list):
        return tuple(Tensor(_shape(one), dtypes.canonical(name)) for one in dimensions)
    shape = _shape(dimensions)
    if not shape and (name in _NO_TENSOR or not has_types):
        return None
    return Tensor(shape, dtypes.canonical(name))


def _shape(dimensions: Any) -> tuple[int, ...]:
    """A shape that can be.

    Raises:
        UnknownWorkError: it cannot.
    """
    if not isinstance(dimensions, list) or len(dimensions) > MAX_DIMENSIONS:
        raise UnknownWorkError(Reason.DAMAGED)
    for size in dimensions:
        if type(size) is not int or not 0 <= size <= MAX_SIZE:
            raise UnknownWorkError(Reason.DAMAGED)
    if math.prod(dimensions) > MAX_ELEMENTS:
        raise UnknownWorkError(Reason.DAMAGED)
    return tuple(dimensions)


def scalar_type(text: str) -> str | None:
    """The element type that a value names by its number, ``"bfloat16"`` for ``"15"``."""
    return formulas.scalar_type(text)
