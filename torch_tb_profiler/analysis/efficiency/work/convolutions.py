"""Work of convolutions, forward and backward.

Definitions: ``docs/flops.md#convolutions``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch_tb_profiler.analysis.efficiency.work.given import Given, text
from torch_tb_profiler.analysis.efficiency.work.given import places as told_places
from torch_tb_profiler.analysis.efficiency.work.operands import Operands, Tensor
from torch_tb_profiler.analysis.efficiency.work.result import (
    Reason,
    UnknownWorkError,
    Work,
    total_bytes,
)

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Places:
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
    def of(cls, given: Given) -> _Places:
        """As a formula gives them."""
        told = {key.replace("-", "_"): value for key, value in given.items()}
        known: dict[str, Any] = {name: told[name] for name in cls.__slots__ if name in told}
        return cls(**known)


def convolution(call: Operands, given: Given) -> Work:
    """2 · batch · points · size of the weight, where points are those of the output, of a
    transposed convolution those of the input.

    Arguments: places of ``x``, ``w``, ``stride``, ``padding``, ``dilation``, ``transposed``,
    ``output-padding``; ``inputs`` how many arguments are read; ``always-transposed``.
    """
    places = _Places.of(given)
    x, w = call.tensor(places.x), call.tensor(places.w)
    x = _batched(x, w)
    transposed = places.always_transposed or call.flag(places.transposed) is True
    channels = _output_channels(call, places, x, w, transposed)
    spatial = _output(call, places, x, w, transposed)
    points = x.shape[2:] if transposed else spatial
    if points is None:
        raise UnknownWorkError(Reason.VALUES)
    flops = 2 * x.shape[0] * math.prod(points) * w.elements
    read = [call.given(place) for place in range(min(places.inputs, len(call.arguments)))]
    if spatial is None or channels is None:
        return Work(flops, None, x.dtype, bytes_reason=Reason.VALUES)
    out = Tensor((x.shape[0], channels, *spatial), x.dtype)
    return Work(flops, total_bytes((*read, out)), x.dtype)


def convolution_backward(call: Operands, given: Given) -> Work:
    """Gradients of the input and of the weight, as far as they were asked for, each a convolution.

    The gradient of the weight is counted as PyTorch's counter does, as if there were one group;
    what groups do not compute of that is told apart.

    Arguments: as :func:`convolution`, ``gradient`` place of the gradient of the output, ``mask``
    place of what was asked for, ``of`` which one alone ("input" or "weight").
    """
    places = _Places.of(given)
    gradient, x, w = _backward_operands(call, given, places)
    told = call.flag(places.transposed)
    transposed = _seems_transposed(gradient, x, w) if told is None else told
    mask = _mask(call, given, places)
    # Where an input has a gradient, some node takes it.
    is_asked = call.gradients is None or x.shape in call.gradients
    of_input, of_weight, of_bias = mask or (is_asked, True, False)
    flops = uncomputed = 0
    if of_input:
        points = x.shape[2:] if transposed else gradient.shape[2:]
        flops += 2 * x.shape[0] * math.prod(points) * w.elements
    if of_weight:
        # Each point of the smaller side meets each point of the filter, for all pairs of channels.
        points = x.shape[2:] if transposed else gradient.shape[2:]
        per_pair = 2 * x.shape[0] * math.prod(points) * math.prod(w.shape[2:])
        counted = per_pair * x.shape[1] * gradient.shape[1]
        flops += counted
        uncomputed += counted - per_pair * w.shape[0] * w.shape[1]
    bias = Tensor((gradient.shape[1] if of_bias else 0,), w.dtype)
    moved = [gradient, bias, *([w, x] if of_input else []), *([x, w] if of_weight else [])]
    return Work(flops, total_bytes(moved), x.dtype, uncomputed, is_estimated=mask is None)


def _backward_operands(
    call: Operands, given: Given, places: _Places
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradient, input and weight; from the call around where this one has sizes instead."""
    source, at = call, (places.gradient, places.x, places.w)
    around = told_places(given, "around")
    if around:
        if call.around is None:
            raise UnknownWorkError(Reason.SHAPES)
        source, at = call.around, (around[0], around[1], around[2])
    gradient, x, w = (source.tensor(place) for place in at)
    fits = len(gradient.shape) == len(x.shape) == len(w.shape) >= 3
    if not fits or gradient.shape[0] != x.shape[0]:
        raise UnknownWorkError(Reason.UNFIT)
    return gradient, x, w


def _mask(call: Operands, given: Given, places: _Places) -> tuple[bool, bool, bool] | None:
    """Which gradients were asked for: of input, weight, bias; None where nothing tells."""
    of = text(given, "of")
    if of is not None:
        return of == "input", of == "weight", False
    told = [part.strip() == "True" for part in call.value(places.mask).strip("[]").split(",")]
    if len(told) == 2:
        told.append(False)
    return (told[0], told[1], told[2]) if len(told) == 3 else None


def _batched(x: Tensor, w: Tensor) -> Tensor:
    """The input as a batch; one without a batch is a batch of one."""
    if len(w.shape) < 3 or len(x.shape) not in (len(w.shape), len(w.shape) - 1):
        raise UnknownWorkError(Reason.UNFIT)
    return x if len(x.shape) == len(w.shape) else Tensor((1, *x.shape), x.dtype)


def _output_channels(
    call: Operands, places: _Places, x: Tensor, w: Tensor, transposed: bool
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
    told = call.output
    if told is not None and len(told) == len(w.shape) and told[1] % max(w.shape[1], 1) == 0:
        return told[1]
    groups = 1 if places.one_group else call.number(places.groups)
    return None if groups is None else w.shape[1] * groups


def _output(
    call: Operands, places: _Places, x: Tensor, w: Tensor, transposed: bool
) -> Sizes | None:
    """Sizes of the output without batch and channels; None where nothing tells them."""
    count = len(w.shape) - 2
    told = call.output
    fits = told is not None and len(told) == count + 2 and told[0] == x.shape[0]
    if told is not None and fits and (transposed or told[1] == w.shape[0]):
        return told[2:]
    stride = _each(call.sizes(places.stride), count)
    padding = _padding(call, places, count)
    dilation = (1,) * count if places.dilation < 0 else _each(call.sizes(places.dilation), count)
    if stride is None or dilation is None or padding is None or 0 in stride:
        return None
    more = _each(call.sizes(places.output_padding), count) or (0,) * count
    out = []
    for place in range(count):
        reach = dilation[place] * (w.shape[2 + place] - 1)
        size = x.shape[2 + place]
        if transposed:
            out.append((size - 1) * stride[place] - 2 * padding[place] + reach + 1 + more[place])
        else:
            out.append((size + 2 * padding[place] - reach - 1) // stride[place] + 1)
    if min(out, default=0) < 0:
        raise UnknownWorkError(Reason.UNFIT)
    return tuple(out)


def _padding(call: Operands, places: _Places, count: int) -> Sizes | None:
    if call.value(places.padding) == "valid":
        return (0,) * count
    return _each(call.sizes(places.padding), count)


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
