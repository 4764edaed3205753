"""Work of matrix products and recurrent layers.

Definitions: ``docs/flops.md#matrix-products``.
"""

from __future__ import annotations

import math

from torch_tb_profiler.analysis.efficiency.work.formula_arguments import (
    FormulaArguments,
    is_set,
    positions,
    text,
    whole,
)
from torch_tb_profiler.analysis.efficiency.work.operands import Operands, Tensor, scalar_type
from torch_tb_profiler.analysis.efficiency.work.result import (
    Reason,
    UnknownWorkError,
    Work,
    total_bytes,
)


def matrix_product(call: Operands, formula: FormulaArguments) -> Work:
    """``a @ b``, batches broadcast, vectors as in ``torch.matmul``; 2 · m · n · k per batch.

    Arguments: ``a``, ``b`` indices of the operands; ``transposed`` b is [n, k]; ``summed`` over the
    batch; ``inputs`` how many arguments are read (one behind them is the output), or ``reads``
    their indices; ``output`` index of a given output, ``out-type`` of its type, ``out`` that type.
    """
    a, b = call.tensor(whole(formula, "a")), call.tensor(whole(formula, "b"))
    left, right = a.shape, b.shape
    if not left or not right:
        raise UnknownWorkError(Reason.UNFIT)
    if is_set(formula, "transposed") and len(right) > 1:
        right = (*right[:-2], right[-1], right[-2])
    rows = left[-2:-1]
    columns = right[-1:] if len(right) > 1 else ()
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        raise UnknownWorkError(Reason.UNFIT)
    batch = broadcast(left[:-2], right[:-2])
    flops = 2 * math.prod((*batch, *rows, *columns)) * inner
    shape = (*rows, *columns) if is_set(formula, "summed") else (*batch, *rows, *columns)
    return _product(call, formula, a, shape, flops)


def grouped_product(call: Operands, formula: FormulaArguments) -> Work:
    """Products of groups of rows with a matrix each (mixture of experts): 2 · k per element of the
    output, where groups share k or share the rows.

    Arguments: as :func:`matrix_product`.
    """
    a, b = call.tensor(whole(formula, "a")), call.tensor(whole(formula, "b"))
    left, right = a.shape, b.shape
    if not {len(left), len(right)} <= {2, 3} or left[-1] != right[-2]:
        raise UnknownWorkError(Reason.UNFIT)
    inner = left[-1]
    if len(left) == len(right) == 2:
        # The groups divide k: each multiplies its part, and together they are one product.
        groups = _offsets(call, formula)
        shape: tuple[int, ...] = (groups, left[0], right[1])
        return _product(call, formula, a, shape, 2 * left[0] * right[1] * inner)
    batch = left[:1] if len(left) == len(right) else ()
    shape = (*batch, left[-2], right[-1])
    return _product(call, formula, a, shape, 2 * math.prod(shape) * inner)


def _offsets(call: Operands, formula: FormulaArguments) -> int:
    offsets = call.operand(whole(formula, "offsets"))
    return offsets.shape[0] if offsets is not None and offsets.shape else 1


def packed_product(call: Operands, formula: FormulaArguments) -> Work:
    """``a`` times a weight packed in a form of its own, whose columns are those of its scales.

    Arguments: ``a``; ``scales`` position of the scales, [groups, n, …].
    """
    a, scales = call.tensor(whole(formula, "a")), call.tensor(whole(formula, "scales"))
    if not a.shape:
        raise UnknownWorkError(Reason.UNFIT)
    columns = scales.shape[1]
    shape = (*a.shape[:-1], columns)
    return _product(call, formula, a, shape, 2 * math.prod(shape) * a.shape[-1])


def experts(call: Operands, formula: FormulaArguments) -> Work:
    """Layers of experts: each token meets the two weights of each expert that it was sent to.

    Arguments: ``input`` [tokens, k]; ``first`` [experts, n, k]; ``second`` [experts, k, n or
    n ÷ 2]; ``chosen`` [tokens, experts per token].
    """
    tokens = call.tensor(whole(formula, "input", 0))
    first, second = call.tensor(whole(formula, "first")), call.tensor(whole(formula, "second"))
    chosen = call.tensor(whole(formula, "chosen"))
    if len(first.shape) != 3 or len(second.shape) != 3 or len(chosen.shape) != 2:
        raise UnknownWorkError(Reason.UNFIT)
    per_token = math.prod(first.shape[1:]) + math.prod(second.shape[1:])
    if first.shape[2] != tokens.shape[-1] or chosen.shape[0] != tokens.shape[0]:
        raise UnknownWorkError(Reason.UNFIT)
    size = total_bytes((tokens, first, second, chosen, tokens))
    # All experts are read where there are at least as many choices: fewer tokens read fewer.
    is_estimated = chosen.elements < first.shape[0]
    flops = 2 * chosen.elements * per_token
    return Work(flops, size, tokens.dtype, is_estimated=is_estimated)


def layer_product(call: Operands, formula: FormulaArguments) -> Work:
    """A layer of a library in one function: the rows of its input meet each of its weights, which
    are [out, in]. Of the tensors of two and more dimensions one is the input, in either order.

    Arguments: ``weights`` how many there are.
    """
    wide = [one for one in call.arguments if isinstance(one, Tensor) and len(one.shape) > 1]
    count = whole(formula, "weights", 1)
    first, second = wide[0], wide[1]
    if first.shape[-1] != second.shape[-1]:
        raise UnknownWorkError(Reason.UNFIT)
    flops = 2 * math.prod(first.shape[:-1]) * second.elements
    out = Tensor((*first.shape[:-1], *second.shape[:-1]), first.dtype)
    if count > 1:
        last = wide[2]
        if len(last.shape) != 2:
            raise UnknownWorkError(Reason.UNFIT)
        flops += 2 * math.prod(first.shape[:-1]) * last.elements
        out = Tensor((*first.shape[:-1], last.shape[0]), first.dtype)
    size = total_bytes((*wide[: count + 1], out))
    return Work(flops, size, first.dtype)


def recurrent_layer(call: Operands, formula: FormulaArguments) -> Work:
    """Every weight matrix once for every element of every sequence: 2 · elements · Σ sizes of
    weights. What gates take is left out.

    Arguments: ``input``; ``weights`` position of their list, or ``weight-places``; ``factor`` of a
    backward pass.
    """
    sequence = call.tensor(whole(formula, "input"))
    if len(sequence.shape) < 2:
        raise UnknownWorkError(Reason.UNFIT)
    weights = tuple(call.tensor(index) for index in positions(formula, "weight-places"))
    weights = weights or call.tensors(whole(formula, "weights"))
    matrices = [one for one in weights if len(one.shape) == 2]
    if not matrices:
        raise UnknownWorkError(Reason.LIST)
    elements = math.prod(sequence.shape[:-1])
    flops = 2 * elements * sum(one.elements for one in matrices) * whole(formula, "factor", 1)
    size = sequence.size_bytes
    return Work(flops, None, sequence.dtype, bytes_reason=Reason.LIST if size else Reason.TYPES)


def _product(
    call: Operands, formula: FormulaArguments, a: Tensor, shape: tuple[int, ...], flops: int
) -> Work:
    """The work of a product of this output: all inputs are read, the output is written."""
    named = scalar_type(call.value(whole(formula, "out-type")))
    dtype = text(formula, "out") or named or a.dtype
    count = whole(formula, "inputs", len(call.arguments))
    inputs = [call.operand(index) for index in positions(formula, "reads") or range(count)]
    size = total_bytes((*inputs, call.operand(whole(formula, "output")) or Tensor(shape, dtype)))
    return Work(flops, size, a.dtype)


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to.

    Raises:
        UnknownWorkError: they do not.
    """
    result: list[int] = []
    for back in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        sizes = {shape[-back] for shape in shapes if len(shape) >= back} - {1}
        if len(sizes) > 1:
            raise UnknownWorkError(Reason.UNFIT)
        result.append(sizes.pop() if sizes else 1)
    return tuple(reversed(result))
