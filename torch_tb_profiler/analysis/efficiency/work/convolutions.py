"""Work of convolutions, forward and backward.

Definitions: ``docs/flops.md#convolutions``.
"""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

from torch_tb_profiler.analysis.efficiency.work.formula_arguments import FormulaArguments, text
from torch_tb_profiler.analysis.efficiency.work.formula_arguments import (
    positions as formula_positions,
)
from torch_tb_profiler.analysis.efficiency.work.operands import Operands, Tensor
from torch_tb_profiler.analysis.efficiency.work.result import (
    Reason,
    UnknownWorkError,
    Work,
    total_bytes,
)

Sizes = tuple[int, ...]


class ConvolutionArguments(Struct, frozen=True):
    """Where the arguments of a convolution stand; -1 for what it does not have."""

    x: int = 0
    w: int = 1
    gradient: int = -1
    stride: int = -1
    padding: int = -1
    dilation: int = -1
    transposed: int = -1
    output_padding: int = -1
    groups: int = -1
    mask: int = -1
    inputs: int = 64
    always_transposed: bool = False
    one_group: bool = False

    @classmethod
    def of(cls, formula: FormulaArguments) -> ConvolutionArguments:
        """As a formula gives them."""
        arguments = {key.replace("-", "_"): value for key, value in formula.items()}
        known: dict[str, Any] = {
            name: arguments[name] for name in cls.__struct_fields__ if name in arguments
        }
        return cls(**known)


def convolution(call: Operands, formula: FormulaArguments) -> Work:
    """2 · batch · points · size of the weight, where points are those of the output, of a
    transposed convolution those of the input.

    Arguments: positions of ``x``, ``w``, ``stride``, ``padding``, ``dilation``, ``transposed``,
    ``output-padding``; ``inputs`` how many arguments are read; ``always-transposed``.
    """
    arguments = ConvolutionArguments.of(formula)
    x, w = call.tensor(arguments.x), call.tensor(arguments.w)
    x = _batched(x, w)
    transposed = arguments.always_transposed or call.flag(arguments.transposed) is True
    channels = _output_channels(call, arguments, x, w, transposed)
    spatial = _output(call, arguments, x, w, transposed)
    points = x.shape[2:] if transposed else spatial
    if points is None:
        raise UnknownWorkError(Reason.VALUES)
    flops = 2 * x.shape[0] * math.prod(points) * w.elements
    read = [call.operand(index) for index in range(min(arguments.inputs, len(call.arguments)))]
    if spatial is None or channels is None:
        return Work(flops, None, x.dtype, bytes_reason=Reason.VALUES)
    out = Tensor((x.shape[0], channels, *spatial), x.dtype)
    return Work(flops, total_bytes((*read, out)), x.dtype)


def convolution_backward(call: Operands, formula: FormulaArguments) -> Work:
    """Gradients of the input and of the weight, as far as they were asked for, each a convolution.

    PyTorch's counter counts the gradient of the weight as if there were one group: groups times
    too much, which made the MFU of depthwise convolutions ten times too high.

    Arguments: as :func:`convolution`, ``gradient`` position of the gradient of the output, ``mask``
    position of what was asked for, ``of`` which one alone ("input" or "weight").
    """
    arguments = ConvolutionArguments.of(formula)
    gradient, x, w = _backward_operands(call, formula, arguments)
    flag = call.flag(arguments.transposed)
    transposed = _seems_transposed(gradient, x, w) if flag is None else flag
    mask = _mask(call, formula, arguments)
    # Where an input has a gradient, some node takes it.
    is_needed = call.gradients is None or x.shape in call.gradients
    of_input, of_weight, of_bias = mask or (is_needed, True, False)
    points = x.shape[2:] if transposed else gradient.shape[2:]
    of_one = 2 * x.shape[0] * math.prod(points) * w.elements
    flops = (of_input + of_weight) * of_one
    bias = Tensor((gradient.shape[1] if of_bias else 0,), w.dtype)
    moved = [gradient, bias, *([w, x] if of_input else []), *([x, w] if of_weight else [])]
    return Work(flops, total_bytes(moved), x.dtype, is_estimated=mask is None)


def _backward_operands(
    call: Operands, formula: FormulaArguments, arguments: ConvolutionArguments
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradient, input and weight; from the call around where this one has sizes instead."""
    source, at = call, (arguments.gradient, arguments.x, arguments.w)
    around = formula_positions(formula, "around")
    if around:
        if call.around is None:
            raise UnknownWorkError(Reason.SHAPES)
        source, at = call.around, (around[0], around[1], around[2])
    gradient, x, w = (source.tensor(index) for index in at)
    fits = len(gradient.shape) == len(x.shape) == len(w.shape) >= 3
    if not fits or gradient.shape[0] != x.shape[0]:
        raise UnknownWorkError(Reason.UNFIT)
    return gradient, x, w


def _mask(
    call: Operands, formula: FormulaArguments, arguments: ConvolutionArguments
) -> tuple[bool, bool, bool] | None:
    """Which gradients were asked for: of input, weight, bias; None where nothing tells."""
    operand = text(formula, "of")
    if operand is not None:
        return operand == "input", operand == "weight", False
    flags = [part.strip() == "True" for part in call.value(arguments.mask).strip("[]").split(",")]
    if len(flags) == 2:
        flags.append(False)
    return (flags[0], flags[1], flags[2]) if len(flags) == 3 else None


def _batched(x: Tensor, w: Tensor) -> Tensor:
    """The input as a batch; one without a batch is a batch of one."""
    if len(w.shape) < 3 or len(x.shape) not in (len(w.shape), len(w.shape) - 1):
        raise UnknownWorkError(Reason.UNFIT)
    return x if len(x.shape) == len(w.shape) else Tensor((1, *x.shape), x.dtype)


def _output_channels(
    call: Operands, arguments: ConvolutionArguments, x: Tensor, w: Tensor, transposed: bool
) -> int | None:
    """Channels of the output; None where nothing tells the groups of a transposed convolution.

    Raises:
        UnknownWorkError: the channels of the input and of the weight do not fit.
    """
    channels = x.shape[1]
    per_group = w.shape[0] if transposed else w.shape[1]
    if not per_group or channels % per_group:
        raise UnknownWorkError(Reason.UNFIT)
    if not transposed:
        return w.shape[0]
    output = call.output
    if output is not None and len(output) == len(w.shape) and output[1] % max(w.shape[1], 1) == 0:
        return output[1]
    groups = 1 if arguments.one_group else call.number(arguments.groups)
    return None if groups is None else w.shape[1] * groups


def _output(
    call: Operands, arguments: ConvolutionArguments, x: Tensor, w: Tensor, transposed: bool
) -> Sizes | None:
    """Sizes of the output without batch and channels; None where nothing tells them."""
    count = len(w.shape) - 2
    output = call.output
    fits = output is not None and len(output) == count + 2 and output[0] == x.shape[0]
    if output is not None and fits and (transposed or output[1] == w.shape[0]):
        return output[2:]
    stride = _each(call.sizes(arguments.stride), count)
    padding = _padding(call, arguments, count)
    dilation = (
        (1,) * count if arguments.dilation < 0 else _each(call.sizes(arguments.dilation), count)
    )
    if stride is None or dilation is None or padding is None or 0 in stride:
        return None
    more = _each(call.sizes(arguments.output_padding), count) or (0,) * count
    out = []
    for axis in range(count):
        reach = dilation[axis] * (w.shape[2 + axis] - 1)
        size = x.shape[2 + axis]
        if transposed:
            out.append((size - 1) * stride[axis] - 2 * padding[axis] + reach + 1 + more[axis])
        else:
            out.append((size + 2 * padding[axis] - reach - 1) // stride[axis] + 1)
    if min(out, default=0) < 0:
        raise UnknownWorkError(Reason.UNFIT)
    return tuple(out)


def _padding(call: Operands, arguments: ConvolutionArguments, count: int) -> Sizes | None:
    if call.value(arguments.padding) == "valid":
        return (0,) * count
    return _each(call.sizes(arguments.padding), count)


def _each(sizes: Sizes | None, count: int) -> Sizes | None:
    """One size for each dimension; a single one is that of all."""
    if sizes is None or len(sizes) == count:
        return sizes
    return sizes * count if len(sizes) == 1 else None


def _seems_transposed(gradient: Tensor, x: Tensor, w: Tensor) -> bool:
    """Whether it was a transposed convolution, where its arguments do not say: its weight begins
    with the channels of the input. Where both fit, one that makes its input smaller is none."""
    is_plain = w.shape[0] == gradient.shape[1] and x.shape[1] % max(w.shape[1], 1) == 0
    is_transposed = w.shape[0] == x.shape[1] and gradient.shape[1] % max(w.shape[1], 1) == 0
    if is_plain and is_transposed:
        return math.prod(gradient.shape[2:]) > math.prod(x.shape[2:])
    if not is_plain and not is_transposed:
        raise UnknownWorkError(Reason.UNFIT)
    return is_transposed
