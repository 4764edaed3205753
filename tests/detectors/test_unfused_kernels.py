"""Elementwise kernels, copies and concatenations that a compiler would fuse."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import ELEMENTWISE, GEMM, awaited, context, finding, launched, one_step
from tests.detectors.test_eager_attention import SOFTMAX
from tests.helpers.traces import Event, annotation, kernel, op
from torch_tb_profiler.detectors.unfused_kernels import detect
from torch_tb_profiler.evidence.stream_runs import fusion_savings

COPY = (
    "void at::native::elementwise_kernel<128, 2, "
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>"
)
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>"
REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"
HANDWRITTEN = (
    "void vllm::act_and_mul_kernel<c10::BFloat16, &(vllm::silu_kernel<c10::BFloat16>), true>"
)


def scene(*parts: tuple[str, float], operator: str = "aten::op") -> list[Event]:
    """Kernels one after the other, all launched before the first runs."""
    events: list[Event] = [op(operator, 0, 90)]
    start = 100.0
    for number, (name, dur) in enumerate(parts):
        events += launched(name, start, dur, number + 1, launch_at=1 + number)
        start += dur
    return awaited(events, 95)


def test_half_of_a_run_is_saved_where_its_longest_kernel_leaves_it() -> None:
    events = scene((ELEMENTWISE, 50), (COPY, 50), (CAT, 50), (GEMM, 60))
    advice = finding(detect(context(one_step(events, length=320))))
    assert advice.measured == pytest.approx(150 / 210 * 100)
    assert advice.gain_us == pytest.approx(75)
    assert [row["kernel"] for row in advice.rows] == [ELEMENTWISE, COPY, CAT]
    assert "torch.compile" in advice.text


def test_a_run_takes_at_least_as_long_as_its_longest_kernel() -> None:
    events = scene((ELEMENTWISE, 100), (COPY, 20), (GEMM, 60))
    assert finding(detect(context(one_step(events, length=320)))).gain_us == pytest.approx(20)


def test_a_kernel_alone_between_products_saves_nothing() -> None:
    """So nobody should compile for it."""
    events = scene((GEMM, 10), (COPY, 200), (GEMM, 10))
    assert detect(context(one_step(events, length=320))) is None


@pytest.mark.parametrize(("short", "speaks"), [(8, False), (12, True)])
def test_what_fusing_saves_has_to_be_noticeable(short: float, speaks: bool) -> None:
    events = scene((ELEMENTWISE, 200), (COPY, short), (GEMM, 10))
    assert (detect(context(one_step(events, length=320))) is not None) is speaks


def test_reductions_are_passes_over_memory_too() -> None:
    """Those of a normalization that is written out: pow, mean, rsqrt, mul."""
    events = scene((ELEMENTWISE, 50), (REDUCE, 60), (ELEMENTWISE, 50), (GEMM, 60))
    advice = finding(detect(context(one_step(events, length=320))))
    assert advice.measured == pytest.approx(160 / 220 * 100)


def test_kernels_of_other_findings_do_not_count_twice() -> None:
    built = one_step(scene((ELEMENTWISE, 50), (SOFTMAX, 50), (GEMM, 10)), length=220)
    saved = dict(zip(built.device_work["dur_ns"], fusion_savings(built, 0.5), strict=True))
    assert saved == {50_000: 0.5, 10_000: 0}
    attention = [
        op("aten::bmm", 0, 10),
        *launched(GEMM, 100, 10, 1, launch_at=1),
        op("aten::mul", 10, 10),
        *launched(ELEMENTWISE, 110, 100, 2, launch_at=11),
        op("aten::_softmax", 20, 10),
        *launched(SOFTMAX, 210, 100, 3, launch_at=21),
        op("aten::bmm", 30, 10),
        *launched(GEMM, 310, 10, 4, launch_at=31),
    ]
    assert detect(context(one_step(attention, length=320))) is None


def test_the_optimizer_has_a_finding_of_its_own() -> None:
    events = [annotation("Optimizer.step#Adam.step", 0, 90), *scene((ELEMENTWISE, 200), (GEMM, 5))]
    assert detect(context(one_step(events, length=320))) is None


@pytest.mark.parametrize("name", [GEMM, HANDWRITTEN, "triton_poi_fused_add_mul_0", "my_kernel"])
def test_products_and_fused_kernels_are_not(name: str) -> None:
    events = scene((name, 60), (name, 60), (ELEMENTWISE, 30))
    assert detect(context(one_step(events, length=320))) is None


def test_what_a_compiled_program_leaves_has_another_text() -> None:
    events = scene((ELEMENTWISE, 60), (COPY, 60), ("triton_poi_fused_add_mul_0", 50))
    advice = finding(detect(context(one_step(events, length=320))))
    assert advice.variant == "compiled"
    assert "graph breaks" in advice.text


def test_kernels_that_are_a_small_part_of_the_step_are_not() -> None:
    assert detect(context(one_step(scene((ELEMENTWISE, 20), (COPY, 20)), length=1000))) is None


def test_without_launches_the_gain_is_unknown() -> None:
    events = [kernel(ELEMENTWISE, 0, 100), kernel(COPY, 100, 100)]
    advice = finding(detect(context(one_step(events, length=320))))
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(100)
