"""Work of look-ups, scattered sums and pooling.

Definitions: ``docs/flops.md#look-ups``.
"""

from __future__ import annotations

import math

from torch_tb_profiler.analysis.efficiency.work.formula_arguments import (
    FormulaArguments,
    is_set,
    number,
    whole,
)
from torch_tb_profiler.analysis.efficiency.work.operands import Operands, Tensor
from torch_tb_profiler.analysis.efficiency.work.result import (
    Reason,
    UnknownWorkError,
    Work,
    total_bytes,
)


def looked_up(call: Operands, formula: FormulaArguments) -> Work:
    """Rows of a table by their numbers: what is found is read and written, the numbers are read.

    Arguments: ``table``, ``indices`` indices; ``dim`` index of the dimension that the numbers are
    of; without it the first one; ``same`` where the output has the shape of the numbers.
    """
    table, indices = call.tensor(whole(formula, "table")), call.tensor(whole(formula, "indices"))
    dim: int | None = 0
    if "dim" in formula and not is_set(formula, "same"):
        dim = call.number(whole(formula, "dim"))
        if dim is None and len(table.shape) > 1:
            return Work(0, None, table.dtype, bytes_reason=Reason.VALUES)
    at = (dim or 0) % max(len(table.shape), 1)
    shape = (*table.shape[:at], *indices.shape, *table.shape[at + 1 :])
    output = Tensor(indices.shape if is_set(formula, "same") else shape, table.dtype)
    return Work(0, total_bytes((output, indices, output)), table.dtype)


def scattered(call: Operands, formula: FormulaArguments) -> Work:
    """Elements added to or put into others: source and numbers are read, the positions read (where
    they are added to) and written.

    Arguments: ``source``, ``indices`` positions; ``per-element`` operations.
    """
    source, indices = call.tensor(whole(formula, "source")), call.tensor(whole(formula, "indices"))
    per_element = number(formula, "per-element", 0)
    touched = [source] * (2 if per_element else 1)
    flops = round(source.elements * per_element)
    return Work(flops, total_bytes((source, indices, *touched)), source.dtype)


def embedding_backward(call: Operands, formula: FormulaArguments) -> Work:
    """Rows of the gradient added up in a table that is written as a whole.

    Arguments: ``gradient``, ``indices`` indices; ``rows`` index of how many rows the table has.
    """
    gradient, indices = (
        call.tensor(whole(formula, "gradient")),
        call.tensor(whole(formula, "indices")),
    )
    rows = call.number(whole(formula, "rows"))
    if rows is None or not gradient.shape:
        return Work(gradient.elements, None, gradient.dtype, bytes_reason=Reason.VALUES)
    table = Tensor((rows, gradient.shape[-1]), gradient.dtype)
    return Work(gradient.elements, total_bytes((gradient, indices, table)), gradient.dtype)


def embedding_bag(call: Operands, formula: FormulaArguments) -> Work:
    """Rows of a table by their numbers, added up in bags.

    Arguments: ``table``, ``indices``, ``offsets`` indices; ``last`` of whether the offsets end
    with the count of numbers.
    """
    table, indices = call.tensor(whole(formula, "table")), call.tensor(whole(formula, "indices"))
    offsets = call.tensor(whole(formula, "offsets"))
    if len(table.shape) != 2 or len(offsets.shape) != 1:
        raise UnknownWorkError(Reason.UNFIT)
    bags = offsets.shape[0] - (call.flag(whole(formula, "last")) is True)
    rows = Tensor((indices.elements, table.shape[1]), table.dtype)
    out = Tensor((bags, table.shape[1]), table.dtype)
    return Work(rows.elements, total_bytes((rows, indices, offsets, out)), table.dtype)


def pooled(call: Operands, formula: FormulaArguments) -> Work:
    """Each element of the output from a window of the input: one operation for each in it.

    Arguments: ``kernel``, ``stride``, ``padding``, ``dilation``, ``ceil``; ``indices`` where
    positions are written beside the values.
    """
    source = call.tensor(0)
    kernel = call.sizes(whole(formula, "kernel"))
    if kernel is None:
        raise UnknownWorkError(Reason.VALUES)
    count = whole(formula, "dims", 2)
    kernel = _each(kernel, count)
    stride = _each(call.sizes(whole(formula, "stride")) or kernel, count)
    padding = _each(call.sizes(whole(formula, "padding")) or (0,), count)
    dilation = _each(call.sizes(whole(formula, "dilation")) or (1,), count)
    up = call.flag(whole(formula, "ceil")) is True
    sizes = []
    for at, size in enumerate(source.shape[-count:]):
        room = size + 2 * padding[at] - dilation[at] * (kernel[at] - 1) - 1
        out = -(-room // stride[at]) + 1 if up else room // stride[at] + 1
        # With rounding up the last window still begins inside the input or what pads it before.
        if up and (out - 1) * stride[at] >= size + padding[at]:
            out -= 1
        sizes.append(out)
    result = Tensor((*source.shape[:-count], *sizes), source.dtype)
    positions = [Tensor(result.shape, "int64")] if is_set(formula, "indices") else []
    flops = result.elements * math.prod(kernel)
    return Work(flops, total_bytes((source, result, *positions)), source.dtype)


def pooled_to(call: Operands, formula: FormulaArguments) -> Work:
    """The input pooled to an output of a given size: one operation for each element of the input.

    Arguments: ``size`` position of the size of the output.
    """
    source = call.tensor(0)
    size = call.sizes(whole(formula, "size"))
    if size is None:
        return Work(source.elements, None, source.dtype, bytes_reason=Reason.VALUES)
    out = Tensor((*source.shape[: -len(size)], *size), source.dtype)
    return Work(source.elements, total_bytes((source, out)), source.dtype)


def largest(call: Operands, formula: FormulaArguments) -> Work:
    """The largest elements of a dimension and their positions; no operation is counted.

    Arguments: ``count`` position of how many, ``dim`` position of the dimension.
    """
    source = call.tensor(0)
    count, dim = call.number(whole(formula, "count")), call.number(whole(formula, "dim"))
    if count is None or dim is None or not source.shape:
        return Work(0, None, source.dtype, bytes_reason=Reason.VALUES)
    at = dim % len(source.shape)
    shape = (*source.shape[:at], count, *source.shape[at + 1 :])
    values, positions = Tensor(shape, source.dtype), Tensor(shape, "int64")
    return Work(0, total_bytes((source, values, positions)), source.dtype)


def resized(call: Operands, formula: FormulaArguments) -> Work:
    """An image brought to another size: so many operations for each element of the output.

    Arguments: ``size`` position of the size of the output; ``scales`` count of arguments of the
    overload whose last one is factors instead; ``per-element``.
    """
    source = call.tensor(0)
    size = call.sizes(whole(formula, "size"))
    if size is None and len(call.arguments) == whole(formula, "scales"):
        factors = call.value(len(call.arguments) - 1).strip("[]").split(",")
        inner = source.shape[-len(factors) :]
        try:
            size = tuple(int(n * float(by)) for n, by in zip(inner, factors, strict=True))
        except ValueError:
            size = None
    if size is None:
        raise UnknownWorkError(Reason.VALUES)
    if min(size) < 0 or len(size) > len(source.shape):
        raise UnknownWorkError(Reason.UNFIT)
    out = Tensor((*source.shape[: -len(size)], *size), source.dtype)
    flops = round(out.elements * number(formula, "per-element", 0))
    return Work(flops, total_bytes((source, out)), source.dtype)


def _each(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    if len(sizes) not in (1, count) or min(sizes) < 0:
        raise UnknownWorkError(Reason.UNFIT)
    return sizes if len(sizes) == count else sizes * count
