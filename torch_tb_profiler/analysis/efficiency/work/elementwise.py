"""Work of what goes through its operands element by element: arithmetic, reductions,
normalizations, copies, and the same over lists of tensors.

Definitions: ``docs/flops.md#element-by-element``.
"""

from __future__ import annotations

import math

from torch_tb_profiler.analysis.efficiency.work.formula_arguments import (
    FormulaArguments,
    is_set,
    number,
    positions,
    text,
    whole,
)
from torch_tb_profiler.analysis.efficiency.work.matrix import broadcast
from torch_tb_profiler.analysis.efficiency.work.operands import Operands, Tensor, scalar_type
from torch_tb_profiler.analysis.efficiency.work.result import (
    Reason,
    UnknownWorkError,
    Work,
    total_bytes,
)
from torch_tb_profiler.knowledge.dtypes import size_bytes

_ORDER = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float8", "float16", "bfloat16", "float32", "float64"),
    *("complex32", "complex64", "complex128"),
)
"""Types in the order in which they take others in."""
_FIRST_FLOAT = _ORDER.index("float8")


def elementwise(call: Operands, formula: FormulaArguments) -> Work:
    """So many operations for each element of the output, to which the inputs broadcast.

    Arguments: ``inputs`` how many arguments there are (one behind them is the output);
    ``per-element``; ``out`` type of the output; ``floating`` where it is never of whole numbers;
    ``chosen`` where the first input says which elements of the others are taken.
    """
    count = whole(formula, "inputs", len(call.arguments))
    read = [one for index in range(count) if (one := call.operand(index)) is not None]
    if not read:
        raise UnknownWorkError(Reason.SHAPES)
    shape = broadcast(*(one.shape for one in read))
    members = read[1:] if is_set(formula, "chosen") else read
    dtype = text(formula, "out") or promoted(members, floating=is_set(formula, "floating"))
    out = read[0] if call.in_place else call.operand(count) or Tensor(shape, dtype)
    flops = round(math.prod(shape) * number(formula, "per-element", 1))
    return Work(flops, total_bytes((*read, out)), read[0].dtype)


def promoted(tensors: list[Tensor], *, floating: bool = False) -> str | None:
    """The element type that tensors have together; None where one is unknown.

    Those without dimensions count where theirs is of another kind alone.
    """
    of_dimensions = [one for one in tensors if one.shape] or tensors
    if any(one.dtype is None for one in tensors):
        return None
    ranks = sorted(_rank(one.dtype) for one in of_dimensions)
    rank = ranks[-1]
    scalar = max(_rank(one.dtype) for one in tensors)
    if _kind(scalar) > _kind(rank):
        rank = max(scalar, _ORDER.index("float32")) if _kind(scalar) == 1 else scalar
    if {"float16", "bfloat16"} <= {one.dtype for one in of_dimensions}:
        rank = max(rank, _ORDER.index("float32"))
    if floating and rank < _FIRST_FLOAT:
        return "float32"
    return _ORDER[rank]


def _rank(dtype: str | None) -> int:
    return _ORDER.index(dtype) if dtype in _ORDER else 0


def _kind(rank: int) -> int:
    """Whole numbers, floating point, complex: 0, 1, 2."""
    return (rank >= _FIRST_FLOAT) + (rank >= _ORDER.index("complex32"))


def streamed(call: Operands, formula: FormulaArguments) -> Work:
    """Tensors that are read from end to end and others that are written.

    Arguments: ``inputs`` how many arguments are read, or ``reads`` their indices, ``writes`` those
    of what has the shapes and types of the outputs; ``scalars`` outputs of one element;
    ``masks`` and one of a byte for each element; ``positions`` and one of int64; ``halved`` and one
    of half the main operand; ``of`` index of the main operand, whose elements take ``per-element``
    operations.
    """
    count = whole(formula, "inputs", len(call.arguments))
    read = [call.operand(index) for index in positions(formula, "reads") or range(count)]
    written: list[Tensor | None] = [call.operand(index) for index in positions(formula, "writes")]
    main = call.tensor(whole(formula, "of", 0))
    if is_set(formula, "masks"):
        written.append(Tensor(main.shape, "bool"))
    if is_set(formula, "positions"):
        written.append(Tensor(main.shape, "int64"))
    if is_set(formula, "halved"):
        written.append(Tensor((main.elements // 2,), main.dtype))
    values = call.operand(0) or main
    written += [Tensor((), values.dtype)] * whole(formula, "scalars", 0)
    flops = round(main.elements * number(formula, "per-element", 0))
    return Work(flops, total_bytes((*read, *written)), main.dtype)


def reduced(call: Operands, formula: FormulaArguments) -> Work:
    """Every element of the input once; the dimensions that are reduced go.

    Arguments: ``whole`` counts of arguments of the overloads that reduce all dimensions; of the
    others ``inputs`` how many arguments there are (one behind them is the output), ``dims`` and
    ``keeps`` indices of the dimensions and of whether they stay as 1; ``per-element``; ``out`` type
    of the output, ``out-type`` position of it; ``pairs`` with positions beside the values.
    """
    source = call.tensor(0)
    flops = round(source.elements * number(formula, "per-element", 1))
    named = text(formula, "out") or scalar_type(call.value(whole(formula, "out-type")))
    inputs = whole(formula, "inputs", len(call.arguments))
    shape: tuple[int, ...] | None = ()
    has_dims = len(call.arguments) not in positions(formula, "whole")
    if has_dims:
        shape = _reduced_shape(source.shape, call, whole(formula, "dims"), whole(formula, "keeps"))
    out = call.operand(inputs) or (None if shape is None else Tensor(shape, named or source.dtype))
    if out is None:
        return Work(flops, None, source.dtype, bytes_reason=Reason.VALUES)
    more = [Tensor(out.shape, "int64")] if has_dims and is_set(formula, "pairs") else []
    return Work(flops, total_bytes((source, out, *more)), source.dtype)


def _reduced_shape(
    shape: tuple[int, ...], call: Operands, dims: int, keeps: int
) -> tuple[int, ...] | None:
    """What is left of a shape; None where nothing tells."""
    if not call.values:
        return None
    axes = call.sizes(dims)
    if axes is None and call.value(dims) not in ("", "[]"):
        return None
    reduced = range(len(shape)) if axes is None else axes
    gone = {dim % len(shape) for dim in reduced} if shape else set()
    if call.flag(keeps):
        return tuple(1 if at in gone else size for at, size in enumerate(shape))
    return tuple(size for at, size in enumerate(shape) if at not in gone)


def listed(call: Operands, formula: FormulaArguments) -> Work:
    """Lists of tensors that are read, some of which are written.

    Arguments: ``lists`` indices of the lists; ``writes`` of those that are written (the first
    one is, where none is given); ``per-element`` operations for an element of the first list.
    """
    main = call.tensors(0)
    elements = sum(one.elements for one in main)
    flops = round(elements * number(formula, "per-element", 1))
    every = positions(formula, "lists") or range(len(call.arguments))
    lists = {index: call.arguments[index] for index in every if index < len(call.arguments)}
    written = positions(formula, "writes") or (0,)
    moved = 0
    for index, members in lists.items():
        for one in members if isinstance(members, tuple) else (members,) if members else ():
            size = Tensor(one.shape, _list_type(call, (one,))).size_bytes
            if size is None:
                return Work(flops, None, None)
            moved += size * (2 if index in written else 1)
    return Work(flops, moved, _list_type(call, main))


def _list_type(call: Operands, members: tuple[Tensor, ...]) -> str | None:
    """The type of the members of a list: recordings name it for none, kernels do."""
    return members[0].dtype or call.kernel_dtype if members else None


def joined(call: Operands, formula: FormulaArguments) -> Work:
    """Tensors of a list copied behind one another: each read and written once."""
    del formula
    members = call.tensors(0)
    dtype = _list_type(call, members)
    size = None if dtype is None else size_bytes(dtype)
    elements = sum(one.elements for one in members)
    return Work(0, None if size is None else 2 * elements * size, dtype)


def nothing(call: Operands, formula: FormulaArguments) -> Work:
    """Another view of the same memory, or memory taken: no work."""
    del formula
    first = next((one for one in call.arguments if isinstance(one, Tensor)), None)
    return Work(0, 0, None if first is None else first.dtype)


def generated(call: Operands, formula: FormulaArguments) -> Work:
    """A kernel that Inductor generated: each of its tensors read or written once is the least it
    moves; its FLOPs are known where the recording states them."""
    del formula
    tensors = [one for one in call.arguments if isinstance(one, Tensor)]
    main = next((one.dtype for one in tensors if one.shape), None)
    return Work(None, total_bytes(tensors), main, reason=Reason.GENERATED, is_estimated=True)


def message(call: Operands, formula: FormulaArguments) -> Work:
    """A collective: no FLOPs are counted; what goes in and what comes out.

    Arguments: ``factor`` output and input together as a multiple of the input.
    """
    tensors = [one for one in call.arguments if isinstance(one, Tensor) and one.shape]
    lists = [one for one in call.arguments if isinstance(one, tuple)]
    size = total_bytes((*tensors, *(one for each in lists for one in each)))
    if not tensors and not lists:
        size = None
    dtype = tensors[0].dtype if tensors else None
    total = None if size is None else size * whole(formula, "factor", 2)
    return Work(0, total, dtype, bytes_reason=Reason.LIST)


def of_forward(call: Operands, formula: FormulaArguments) -> Work:
    """A backward pass whose own inputs do not tell its work: counted from its forward one."""
    del formula
    first = next((one for one in call.arguments if isinstance(one, Tensor)), None)
    dtype = None if first is None else first.dtype
    return Work(None, None, dtype, reason=Reason.FORWARD, bytes_reason=Reason.FORWARD)
