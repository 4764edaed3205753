"""The rules that formulas name, and the work of one call by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from torch_tb_profiler.analysis.efficiency.work import (
    attention,
    convolutions,
    elementwise,
    indexing,
    matrix,
)
from torch_tb_profiler.analysis.efficiency.work.formula_arguments import FormulaArguments
from torch_tb_profiler.analysis.efficiency.work.operands import Operands, read_operands
from torch_tb_profiler.analysis.efficiency.work.result import Reason, UnknownWorkError, Work
from torch_tb_profiler.knowledge.formulas import Formula, formulas, is_inplace

Rule: TypeAlias = Callable[[Operands, FormulaArguments], Work]

RULES: dict[str, Rule] = {
    "matrix-product": matrix.matrix_product,
    "grouped-product": matrix.grouped_product,
    "packed-product": matrix.packed_product,
    "experts": matrix.experts,
    "layer-product": matrix.layer_product,
    "recurrent-layer": matrix.recurrent_layer,
    "convolution": convolutions.convolution,
    "convolution-backward": convolutions.convolution_backward,
    "attention": attention.attention,
    "served-attention": attention.served_attention,
    "generated": elementwise.generated,
    "message": elementwise.message,
    "of-forward": elementwise.of_forward,
    "elementwise": elementwise.elementwise,
    "streamed": elementwise.streamed,
    "reduced": elementwise.reduced,
    "listed": elementwise.listed,
    "joined": elementwise.joined,
    "nothing": elementwise.nothing,
    "looked-up": indexing.looked_up,
    "scattered": indexing.scattered,
    "embedding-backward": indexing.embedding_backward,
    "embedding-bag": indexing.embedding_bag,
    "pooled": indexing.pooled,
    "pooled-to": indexing.pooled_to,
    "largest": indexing.largest,
    "resized": indexing.resized,
}
"""Every rule by the name that formulas have for it."""

READ_VALUES = frozenset(
    (
        *("convolution", "convolution-backward", "attention", "served-attention", "reduced"),
        *("looked-up", "embedding-backward", "embedding-bag", "pooled", "pooled-to"),
        *("largest", "resized"),
    )
)
"""Rules that read values of arguments; others do where their formula gives ``out-type``."""


def work_of(formula: Formula, call: Operands) -> Work:
    """The work of one call.

    Raises:
        UnknownWorkError: there are not enough data.
    """
    try:
        work = RULES[formula.rule](call, formula.arguments)
    except (IndexError, ZeroDivisionError, OverflowError):
        raise UnknownWorkError(Reason.UNFIT) from None
    if (work.flops or 0) < 0 or (work.bytes or 0) < 0:  # values that no such call can have
        raise UnknownWorkError(Reason.UNFIT)
    return work


def work_of_texts(
    formula: int,
    operator: str,
    shapes: str | None,
    types: str | None,
    concrete: str | None,
    *,
    around: str | None = None,
    around_types: str | None = None,
    output: str | None = None,
    likely: str | None = None,
    kernel_dtype: str | None = None,
    gradients: frozenset[tuple[int, ...]] | None = None,
) -> Work:
    """The work of one call by what its trace says of it; unknown figures are None and
    have their reason.

    Args:
        position: Of its formula.
        operator: Its name.
        shapes: Text of its input shapes.
        types: Text of its input types.
        concrete: Text of its concrete inputs.
        around: Text of the input shapes of the call around it.
        around_types: Text of its input types.
        output: Text of the shapes whose first one is that of its output.
        likely: Likewise, where that is a guess: what it tells is an estimate.
        kernel_dtype: Widest element type of its first kernel.
        gradients: Shapes of all gradients that backward nodes take.
    """
    if shapes is None:
        return _unknown(Reason.SHAPES)
    try:
        operands = read_operands(shapes, types, concrete)
        outer = None if around is None else read_operands(around, around_types, None)
        operands = replace(
            operands,
            in_place=is_inplace(operator),
            around=outer,
            output=first_shape(output),
            kernel_dtype=kernel_dtype,
            gradients=gradients,
        )
        work = _attempt(formulas()[formula], operands)
        if work.reason == Reason.VALUES and likely is not None:
            work = _attempt(formulas()[formula], replace(operands, output=first_shape(likely)))
            work = replace(work, is_estimated=work.flops is not None)
        return work
    except UnknownWorkError as unknown:
        return _unknown(unknown.reason)


def _attempt(formula: Formula, operands: Operands) -> Work:
    try:
        return work_of(formula, operands)
    except UnknownWorkError as unknown:
        return _unknown(unknown.reason)


def first_shape(shapes: str | None) -> tuple[int, ...] | None:
    """The shape of the first tensor in a text of shapes; None where there is none."""
    try:
        first = None if shapes is None else read_operands(shapes, None, None).operand(0)
    except UnknownWorkError:
        return None
    return None if first is None else first.shape


def _unknown(reason: Reason) -> Work:
    return Work(None, None, None, reason=reason, bytes_reason=reason)
