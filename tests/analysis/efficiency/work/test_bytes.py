"""Bytes are the sizes of the operands: each operator is watched while it runs, and its tensors are
measured.

Case: a transformer layer and a small convolutional network with a loss, forward and backward, and
an optimizer step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.counted import counted
from torch_tb_profiler.analysis.efficiency.work.call_work import call_work
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.trace.model import Trace

torch = pytest.importorskip("torch")
dispatch = pytest.importorskip("torch.utils._python_dispatch")
nn = torch.nn

# Statistics beside the output are left out, and what is only looked at for its shape or in part.
NOT_ALL = {"aten::native_layer_norm", "aten::native_layer_norm_backward", "aten::native_batch_norm"}
NOT_ALL |= {"aten::native_batch_norm_backward", "aten::nll_loss_forward", "aten::nll_loss_backward"}
NOT_ALL |= {"aten::max_pool2d_with_indices_backward", "aten::embedding"}
NOT_ALL |= {"aten::_local_scalar_dense"}  # its result is no tensor
# Numbers are recorded as tensors of 8 bytes; gradients add up otherwise while someone watches.
NOT_ALL |= {"aten::div", "aten::mul_", "aten::add", "aten::add_"}


def tensors(values: Any) -> Iterator[Any]:
    """All tensors among arguments or results."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, tuple | list):
        for each in values:
            yield from tensors(each)


def measured(program: Callable[[], Any]) -> dict[str, int]:
    """By name the bytes of the inputs and outputs of the operators that a program calls."""
    sums: dict[str, int] = defaultdict(int)

    class Watch(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        """Measures what passes."""

        def __torch_dispatch__(
            self, function: Any, types: Any, arguments: Any = (), named: Any = None
        ) -> Any:
            result = function(*arguments, **(named or {}))
            moved = [*tensors(arguments), *tensors(tuple((named or {}).values()))]
            name = function._schema.name
            if name == "aten::copy_":
                moved = moved[1:2]  # the destination is not read
            if name in {"aten::fill_", "aten::zero_"}:
                moved = []
            moved += tensors(result)
            sums[name] += sum(one.numel() * one.element_size() for one in moved)
            return result

    with Watch():
        program()
    return sums


def told(trace: Trace, names: set[str]) -> dict[str, float]:
    """By name the bytes of the outermost calls."""
    calls, work, parent = operator_calls(trace), call_work(trace), call_tree(trace).parent
    all_names = [str(trace.text(code)) for code in calls["name_code"].to_list()]
    sums: dict[str, float] = defaultdict(float)
    for row, name in enumerate(all_names):
        outer = parent[row]
        while outer >= 0 and all_names[outer] not in names:
            outer = parent[outer]
        if name in names and outer < 0:
            sums[name] += work.bytes[row]
    return sums


def test_bytes_are_the_sizes_of_the_operands(tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0, activation="gelu")
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3, groups=2)
    )
    parameters = [*layer.parameters(), *network.parameters()]
    optimizer = torch.optim.AdamW(parameters, foreach=False)
    embedding = nn.Embedding(20, 32)

    def program() -> None:
        optimizer.zero_grad()
        embedding.weight.grad = None
        hidden = layer(embedding(torch.arange(12).view(2, 6)))
        image = network(torch.randn(2, 3, 12, 12, requires_grad=True)).mean((2, 3))
        scores = torch.cat((hidden.mean(1), image), 1).to(torch.float64)
        loss = nn.functional.cross_entropy(scores * scores, torch.tensor([1, 0]))
        loss.backward()
        optimizer.step()

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        program()  # the optimizer makes its state
        expected = measured(program)
        trace = counted(program, tmp_path).trace
    found = told(trace, set(expected))
    compared = {
        name: size
        for name, size in found.items()
        if size == size and size and name not in NOT_ALL  # noqa: PLR0124 - NaN: not told
    }
    assert compared == {name: float(expected[name]) for name in compared}
    must = "addmm mm bmm convolution convolution_backward _log_softmax gelu gelu_backward mul"
    must += " threshold_backward embedding_dense_backward max_pool2d_with_indices addcdiv_ lerp_"
    must += " sum mean sqrt"
    assert {f"aten::{name}" for name in must.split()} <= set(compared)
