"""FLOPs equal those of ``torch.utils.flop_counter.FlopCounterMode`` on models run here.

Cases: ResNet-50, a transformer block (math attention) forward and backward, fused attention against
the counter's own formula, conv1d, conv3d, transposed, grouped, dilated and strided convolutions
forward and backward, LSTM, bmm, baddbmm, addmm, einsum, matmul with broadcast batches.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.counted import Counted, counted
from tests.helpers.torch_networks import bottleneck_network
from torch_tb_profiler.analysis.efficiency.work.call_work import call_work
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.calls import operator_calls

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.flop_counter")
nn = torch.nn

Record = Callable[[Callable[[], Any]], Counted]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Run a program beside the counter and record it."""
    return lambda program: counted(program, tmp_path)


def by_name(recorded: Counted) -> dict[str, float]:
    """Σ FLOPs of the calls of each operator that the counter knows, each nest once."""
    trace = recorded.trace
    calls, work, parent = operator_calls(trace), call_work(trace), call_tree(trace).parent
    names = [str(trace.text(code)) for code in calls["name_code"].to_list()]
    sums = dict.fromkeys(recorded.flops, 0.0)
    for row, name in enumerate(names):
        if name in sums and (parent[row] < 0 or names[parent[row]] != name):
            sums[name] += work.flops[row]
    return sums


def model_flops(recorded: Counted) -> float:
    """Σ FLOPs of the counted calls of matrix products, convolutions and attention."""
    work = call_work(recorded.trace)
    return float(np.sum(work.flops[work.is_model]))


def check(recorded: Counted) -> None:
    """Every operator the counter knows, and the sum of all, equal it exactly."""
    assert recorded.flops, "the counter counts nothing here"
    assert by_name(recorded) == recorded.flops
    assert model_flops(recorded) == sum(recorded.flops.values())


def trained(module: Any, *inputs: Any) -> Callable[[], None]:
    """A forward and a backward pass."""

    def run() -> None:
        outputs = module(*inputs)
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        first.sum().backward()

    return run


def test_resnet_50_forward_and_backward(record: Record) -> None:
    network = bottleneck_network([3, 4, 6, 3])
    recorded = record(trained(network, torch.randn(1, 3, 32, 32)))
    assert len(recorded.flops) == 4  # convolution, its backward, addmm, mm
    check(recorded)


def test_a_transformer_block_with_math_attention(record: Record) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
    inputs = torch.randn(2, 6, 32, requires_grad=True)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        recorded = record(trained(layer, inputs))
    assert "aten::bmm" in recorded.flops
    check(recorded)


@pytest.mark.parametrize("is_causal", [False, True])
def test_fused_attention_is_what_the_counters_formula_gives(
    record: Record, is_causal: bool
) -> None:
    """On the CPU the counter does not know the fused operator: its formula is asked directly."""
    query = torch.randn(2, 4, 6, 8, requires_grad=True)
    key, value = (torch.randn(2, 4, 9, 8, requires_grad=True) for _ in range(2))
    attend = torch.nn.functional.scaled_dot_product_attention
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        recorded = record(lambda: attend(query, key, value, is_causal=is_causal).sum().backward())
    shapes = (query.shape, key.shape, value.shape)
    formulas = torch.utils.flop_counter
    expected = formulas.sdpa_flop_count(*shapes)
    expected += formulas.sdpa_backward_flop_count(query.shape, *shapes)
    assert model_flops(recorded) == expected
    work = call_work(recorded.trace)
    seen = sum(min(row + 1, 9) for row in range(6)) / 54 if is_causal else 1
    uncomputed = np.sum(work.uncomputed_flops[work.is_model])
    assert uncomputed == pytest.approx(expected * (1 - seen), abs=0.5)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda: nn.Conv1d(4, 6, 3, padding=1), (2, 4, 11)),
        (lambda: nn.Conv1d(4, 8, 5, stride=2, groups=2), (2, 4, 17)),
        (lambda: nn.Conv2d(4, 6, 3, dilation=2, padding="same"), (2, 4, 9, 9)),
        (lambda: nn.Conv2d(8, 8, 3, groups=8, stride=2, padding=1), (2, 8, 9, 9)),
        (lambda: nn.Conv2d(4, 6, (3, 1), bias=False), (4, 7, 7)),
        (lambda: nn.Conv3d(3, 4, 3, padding=(1, 0, 2), stride=(1, 2, 1)), (1, 3, 5, 6, 7)),
        (lambda: nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1), (2, 4, 7)),
        (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), (2, 4, 5, 5)),
        (lambda: nn.ConvTranspose3d(2, 3, 2, dilation=2), (1, 2, 4, 4, 4)),
    ],
)
def test_convolutions_of_every_kind(
    record: Record, make: Callable[[], Any], size: tuple[int, ...]
) -> None:
    module = make()
    recorded = record(trained(module, torch.randn(size, requires_grad=True)))
    assert set(recorded.flops) == {"aten::convolution", "aten::convolution_backward"}
    if module.groups > 1:
        # The gradient of the weight is groups times too large there; each is one convolution.
        recorded.flops["aten::convolution_backward"] = 2 * recorded.flops["aten::convolution"]
    check(recorded)


def test_a_first_convolution_has_no_gradient_of_its_input(record: Record) -> None:
    check(record(trained(nn.Conv2d(3, 4, 3), torch.randn(2, 3, 8, 8))))


def test_products_of_matrices(record: Record) -> None:
    a, b = (torch.randn(3, 4, 5, requires_grad=True) for _ in range(2))

    def run() -> None:
        product = torch.bmm(a, b.transpose(1, 2))
        product = torch.baddbmm(product, a, b.transpose(1, 2))
        product = product + torch.einsum("bik,bjk->bij", a, b)
        product = product + torch.matmul(torch.randn(2, 1, 4, 5), b.transpose(1, 2)).sum(0)
        torch.addmm(torch.randn(4), product[0], torch.randn(4, 4)).sum().backward()

    recorded = record(run)
    assert {"aten::bmm", "aten::baddbmm", "aten::addmm", "aten::mm"} <= set(recorded.flops)
    check(recorded)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_recurrent_network(record: Record, layers: int) -> None:
    """The counter knows the products that a layer is made of, and not the layer of a library
    (oneDNN's), which is as much."""
    states = tuple(torch.randn(layers, 3, 7, requires_grad=True) for _ in range(2))
    inputs = torch.randn(4, 3, 5, requires_grad=True)
    program = trained(nn.LSTM(5, 7, num_layers=layers), inputs, states)
    with torch.backends.mkldnn.flags(enabled=False):
        parts = record(program)
    check(parts)
    whole = record(program)
    assert whole.flops == {}
    assert model_flops(whole) == model_flops(parts)
