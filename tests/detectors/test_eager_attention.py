"""Attention that runs operator by operator, and softmax that is none."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import (
    GEMM,
    TENSOR_CORE_GEMM,
    awaited,
    context,
    finding,
    launched,
    one_step,
)
from tests.helpers.traces import Event, kernel, op
from torch_tb_profiler.detectors.eager_attention import detect
from torch_tb_profiler.evidence.kernel_groups import eager_attention

SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float>"
LOG_SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>"
SCALE = "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>"
TOPK = "void at::native::mbtopk::gatherTopK<float, unsigned int>"
LAYER_NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>"

Part = tuple[str, str, float]
ATTENTION: list[Part] = [
    ("aten::bmm", TENSOR_CORE_GEMM, 100),
    ("aten::div", SCALE, 40),
    ("aten::_softmax", SOFTMAX, 60),
    ("aten::bmm", TENSOR_CORE_GEMM, 100),
]


def scene(parts: list[Part], at: float = 0) -> list[Event]:
    """Operators with a kernel each, one after the other; all launched before the first runs."""
    events: list[Event] = []
    start = at + 100
    for number, (name, kernel_name, dur) in enumerate(parts):
        launch = at + 5 * number
        events.append(op(name, launch, 4))
        correlation = round(at) + number + 1
        events += launched(kernel_name, start, dur, correlation, launch_at=launch + 1)
        start += dur
    return awaited(events, at + 90)


def select_kernels(parts: list[Part]) -> list[str]:
    built = one_step(scene(parts), length=2000)
    names = built.device_work.filter(eager_attention(built))["name_code"]
    return [built.text(code) or "" for code in names]


def test_kernels_between_the_products_are_reported() -> None:
    advice = finding(detect(context(one_step(scene(ATTENTION), length=400))))
    assert advice.measured == pytest.approx(100 / 300 * 100)
    assert advice.gain_us == pytest.approx(0.75 * 100)
    assert [(row["operator"], row["calls"], row["total_us"]) for row in advice.rows] == [
        ("aten::_softmax", 1, 60),
        ("aten::div", 1, 40),
    ]
    assert advice.source["filter"] == "operator=aten::_softmax"
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (240_000, 300_000)
    assert advice.time is not None
    assert advice.time.start_ns.tolist() == [200_000]
    assert advice.time.end_ns.tolist() == [300_000]


def test_the_fallback_of_sdpa_has_a_text() -> None:
    events = [op("aten::_scaled_dot_product_attention_math", 0, 50), *scene(ATTENTION)]
    advice = finding(detect(context(one_step(events, length=400))))
    assert advice.variant == "fallback"
    assert "sdpa_kernel" in advice.text


@pytest.mark.parametrize(
    "parts",
    [
        # a classifier and its loss
        [("aten::addmm", GEMM, 100), ("aten::_log_softmax", LOG_SOFTMAX, 90)],
        # a language model's head, loss and gradient
        [
            ("aten::mm", GEMM, 100),
            ("aten::_log_softmax", LOG_SOFTMAX, 90),
            ("aten::_log_softmax_backward_data", LOG_SOFTMAX, 90),
            ("aten::mm", GEMM, 100),
        ],
        # a router of experts between attention and experts
        [
            ("aten::bmm", GEMM, 50),
            ("aten::mm", GEMM, 50),
            ("aten::_softmax", SOFTMAX, 90),
            ("aten::topk", TOPK, 10),
            ("aten::bmm", GEMM, 100),
        ],
        # batched experts behind a router that chooses
        [
            ("aten::bmm", GEMM, 50),
            ("aten::_softmax", SOFTMAX, 90),
            ("aten::topk", TOPK, 10),
            ("aten::bmm", GEMM, 100),
        ],
        # sampling
        [("aten::mm", GEMM, 100), ("aten::_softmax", SOFTMAX, 90), ("aten::copy_", SCALE, 9)],
        # two batched products without a softmax
        [("aten::bmm", GEMM, 100), ("aten::div", SCALE, 90), ("aten::bmm", GEMM, 100)],
        # the softmax lies after attention
        [
            ("aten::bmm", GEMM, 50),
            ("aten::native_layer_norm", LAYER_NORM, 9),
            ("aten::_softmax", SOFTMAX, 90),
            ("aten::bmm", GEMM, 50),
        ],
    ],
)
def test_other_softmax_is_not(parts: list[Part]) -> None:
    assert select_kernels(parts) == []
    assert detect(context(one_step(scene(parts), length=2000))) is None


def test_the_gradient_counts_too() -> None:
    backward: list[Part] = [
        ("aten::bmm", GEMM, 50),
        ("aten::bmm", GEMM, 50),
        ("aten::_softmax_backward_data", SOFTMAX.replace("forward", "backward"), 90),
        ("aten::div", SCALE, 30),
        ("aten::bmm", GEMM, 50),
    ]
    assert len(select_kernels(backward)) == 2


def test_a_compiled_softmax_between_the_products_counts() -> None:
    """torch.compile fuses scale and mask into it, but the scores are written all the same."""
    compiled = "triton_per_fused__softmax_add_div_3"
    parts = [ATTENTION[0], ("CompiledFunction", compiled, 90.0), ATTENTION[3]]
    assert select_kernels(parts) == [compiled]
    loss = "triton_per_fused__log_softmax_nll_loss_forward_3"
    assert select_kernels([ATTENTION[0], ("CompiledFunction", loss, 90.0), ATTENTION[3]]) == []


def test_without_the_operators_there_is_no_finding() -> None:
    events = [kernel(name, 300 * i, dur) for i, (_, name, dur) in enumerate(ATTENTION)]
    assert detect(context(one_step(events, length=2000))) is None


def test_the_products_of_another_stream_are_others() -> None:
    events = scene(ATTENTION)
    last = [event for event in events if event["cat"] == "kernel"][-1]
    last["tid"] = last["args"]["stream"] = 9
    built = one_step(events, length=400)
    assert not eager_attention(built).any()


def test_a_host_bound_step_gains_nothing_from_it() -> None:
    """Each kernel ends before the next is launched, so that the host limits the step."""
    events: list[Event] = []
    for number, (name, kernel_name, dur) in enumerate(ATTENTION):
        events.append(op(name, 400 * number, 390))
        events += launched(kernel_name, 400 * number + 10, dur, number + 1)
    advice = finding(detect(context(one_step(events, length=1600))))
    assert advice.gain_us is None
    assert advice.at_stake_us is None
    assert "limits the step" in advice.text
