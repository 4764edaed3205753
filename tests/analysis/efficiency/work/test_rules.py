"""Rules against PyTorch's own formulas on random shapes, and against texts that are no shapes.

Cases: fused attention and its backward pass, products, convolutions and their backward pass with
groups and any mask, as ``torch.utils.flop_counter`` counts them; random texts are never an error.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.analysis.efficiency.work.result import Reason, Work
from torch_tb_profiler.analysis.efficiency.work.rules import work_of_texts
from torch_tb_profiler.knowledge.formulas import formula_index, formulas

torch = pytest.importorskip("torch")
counter = pytest.importorskip("torch.utils.flop_counter")

SIZES = st.integers(1, 6)


def work(operator: str, shapes: list[Any], values: dict[int, str] | None = None) -> Work:
    """The work of a call of float tensors; empty shapes are no tensors."""
    types = str(["float" if shape else "" for shape in shapes])
    concrete = str([(values or {}).get(place, "") for place in range(len(shapes))])
    return work_of_texts(formula_index(operator), operator, str(shapes), types, concrete)


def size_of(shapes: list[list[int]]) -> int:
    """Bytes of tensors of float."""
    return sum(4 * torch.Size(shape).numel() for shape in shapes)


@given(*[SIZES] * 6, st.booleans())
def test_fused_attention(  # noqa: PLR0917 - one size each
    batch: int, shared: int, repeats: int, queries: int, keys: int, dim: int, causal: bool
) -> None:
    query, key = [batch, shared * repeats, queries, dim], [batch, shared, keys, dim]
    value = [*key[:-1], dim + 1]
    out = [*query[:-1], dim + 1]
    name = "aten::_scaled_dot_product_flash_attention"
    forward = work(name, [query, key, value, [], []], {4: str(causal)})
    assert forward.flops == counter.sdpa_flop_count(query, key, value)
    assert forward.bytes == size_of([query, key, value, out])
    backward = work(f"{name}_backward", [out, query, key, value, out])
    assert backward.flops == counter.sdpa_backward_flop_count(out, query, key, value)


@given(*[SIZES] * 4)
def test_products(batch: int, rows: int, inner: int, columns: int) -> None:
    a, b = [batch, rows, inner], [batch, inner, columns]
    assert work("aten::bmm", [a, b]).flops == counter.bmm_flop(a, b)
    assert work("aten::baddbmm", [[columns], a, b]).flops == counter.bmm_flop(a, b)
    assert work("aten::mm", [a[1:], b[1:]]).flops == counter.mm_flop(a[1:], b[1:])
    assert work("aten::matmul", [a, b[1:]]).flops == batch * counter.mm_flop(a[1:], b[1:])


@given(
    st.integers(1, 3),
    st.tuples(SIZES, SIZES, st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.integers(1, 3)] * 2, st.integers(0, 2), st.integers(1, 2)),
    st.booleans(),
    st.tuples(*[st.booleans()] * 3),
)
def test_convolutions(
    dims: int,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    transposed: bool,
    mask: tuple[bool, ...],
) -> None:
    """Shapes of outputs are those that PyTorch computes for tensors without data."""
    batch, channels, out, groups = sizes
    kernel, stride, padding, dilation = window
    x = [batch, channels * groups, *[7] * dims]
    w = [channels * groups, out, *[kernel] * dims]
    if not transposed:
        w = [out * groups, channels, *[kernel] * dims]
    values = [[stride] * dims, [padding] * dims, [dilation] * dims]
    tensors = [torch.empty(shape, device="meta") for shape in (x, w)]
    y = list(torch.convolution(*tensors, None, *values, transposed, [0] * dims, groups).shape)
    told = {3 + place: str(value) for place, value in enumerate(values)}
    told |= {6: str(transposed), 7: str([0] * dims), 8: str(groups)}
    forward = work("aten::convolution", [x, w, [], *[[]] * 6], told)
    assert forward.flops is not None
    assert forward.flops == counter.conv_flop_count(x, w, y, transposed)
    assert forward.bytes == size_of([x, w, y])
    told = {7: str(transposed), 10: str(list(mask))}
    backward = work("aten::convolution_backward", [y, x, w, *[[]] * 8], told)
    raw = counter.conv_backward_flop.__wrapped__
    shapes = (y, x, w, None, *values, transposed, [0] * dims, groups, mask)
    if groups == 1:
        assert backward.flops == raw(*shapes, out_shape=[x, w, [w[0]]])
    # The counter takes all pairs of channels, also those of different groups.
    assert backward.flops == (mask[0] + mask[1]) * forward.flops
    assert backward.uncomputed == 0


TEXTS = st.none() | st.text("[]0123456789,'-. eflotdnTrue\"", max_size=40)
PLACES = st.integers(0, len(formulas()) - 1)


@given(PLACES, TEXTS, TEXTS, TEXTS)
def test_texts_that_are_no_shapes_are_unknown_and_no_error(
    place: int, shapes: str | None, types: str | None, concrete: str | None
) -> None:
    found = work_of_texts(place, "any", shapes, types, concrete)
    assert (found.flops is None) == (found.reason != Reason.KNOWN)
    assert found.flops is None or found.flops >= found.uncomputed >= 0
    assert found.bytes is None or found.bytes >= 0


SHAPES = st.lists(st.lists(st.integers(0, 5), max_size=5), max_size=9)
VALUES = st.lists(st.sampled_from(["", "1", "-3", "True", "[1, 0]", "[0]", "[]", "x"]), max_size=12)


@given(PLACES, SHAPES, VALUES)
def test_inputs_that_do_not_belong_together_are_unknown_and_no_error(
    place: int, shapes: list[list[int]], values: list[str]
) -> None:
    types = str(["float" if shape else "Scalar" for shape in shapes])
    found = work_of_texts(place, "any", str(shapes), types, str(values))
    assert found.flops is None or found.flops >= found.uncomputed >= 0
    assert found.bytes is None or found.bytes >= 0
