"""Matrix products in TF32 where 16 bits would do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import (
    ELEMENTWISE,
    GEMM,
    TENSOR_CORE_GEMM,
    awaited,
    context,
    device,
    finding,
    launched,
    one_step,
)
from tests.helpers.traces import Event, op
from torch_tb_profiler.detectors.mixed_precision import detect
from torch_tb_profiler.trace.model import Trace

TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1"
A100 = device(name="NVIDIA A100-SXM4-80GB", capability="8.0")
SQUARE = [[1024, 1024], [1024, 1024]]


def scene(
    *parts: tuple[str, float],
    types: str = "float",
    shape: list[list[int]] | None = None,
    capability: str = "8.0",
    device_name: str = "NVIDIA A100-SXM4-80GB",
) -> Trace:
    """Kernels of one product each, one after the other, awaited at the end."""
    events: list[Event] = []
    start = 100.0
    for number, (name, dur) in enumerate(parts):
        inputs: dict[str, Any] = {"shape": shape or SQUARE, "Input type": [types, types]}
        events.append(op("aten::mm", 3 * number, 3, ext=number + 1, **inputs))
        events += launched(name, start, dur, number + 1, launch_at=3 * number + 1)
        start += dur
    return one_step(
        awaited(events, 95),
        length=start,
        deviceProperties=[device(name=device_name, capability=capability)],
    )


def test_a_third_of_the_time_of_products_in_tf32_is_saved() -> None:
    advice = finding(detect(context(scene((TF32, 300), (ELEMENTWISE, 100)))))
    assert advice.measured == pytest.approx(75)
    assert advice.gain_us == pytest.approx(100)
    assert "bfloat16" in advice.text
    assert [row["kernel"] for row in advice.rows] == [TF32]


@pytest.mark.parametrize(("busy_us", "gain_us"), [(360, 40), (240, 100)])
def test_a_gain_that_the_host_limits_says_so(busy_us: float, gain_us: float) -> None:
    """100 of 300 µs of products could be saved in a step of 400 µs, of which the host works 360:
    it cannot become shorter than that."""
    types: dict[str, Any] = {"Input type": ["float", "float"]}
    events: list[Event] = [
        op("aten::mm", 0, 3, ext=1, shape=SQUARE, **types),
        *launched(TF32, 100, 300, 1, launch_at=1),
        op("aten::item", 10, busy_us - 13),
    ]
    built = one_step(awaited(events, busy_us), length=400, deviceProperties=[A100])
    advice = finding(detect(context(built)))
    assert advice.gain_us == pytest.approx(gain_us, abs=5)
    assert ("because the host needs" in advice.text) == (gain_us < 50)
    if gain_us < 50:
        assert "The kernels would take 100 µs less per step" in advice.text
        assert "of its 400 µs to run operators" in advice.text


@pytest.mark.parametrize(("dur", "speaks"), [(100, False), (110, True)])
def test_the_threshold(dur: float, speaks: bool) -> None:
    result = detect(context(scene((TF32, dur), (ELEMENTWISE, 400))))
    assert (result is not None) is speaks


@pytest.mark.parametrize(
    "parts",
    [
        ((TENSOR_CORE_GEMM, 300),),  # float16 already
        ((TF32, 300), (TENSOR_CORE_GEMM, 30)),  # under autocast, but for some
        ((GEMM, 300),),  # no matrix units: tensor_cores_unused
        ((ELEMENTWISE, 300),),
    ],
)
def test_other_programs_are_left_alone(parts: tuple[tuple[str, float], ...]) -> None:
    assert detect(context(scene(*parts))) is None


def test_a_kernel_without_a_type_in_its_name_is_classified_by_its_inputs() -> None:
    name = "cutlass_tensorop_gemm"
    result = detect(context(scene((TF32, 300), (name, 300), types="c10::BFloat16")))
    assert result is None or result.measured == pytest.approx(50)


def test_products_that_memory_limits_do_not_count() -> None:
    assert detect(context(scene((TF32, 300), shape=[[1, 4096], [4096, 4096]]))) is None


def test_devices_without_bfloat16_are_left_alone() -> None:
    assert (
        detect(context(scene((TF32, 300), capability="7.0", device_name="Tesla V100-SXM2-16GB")))
        is None
    )


def test_matrix_cores_of_amd_take_float32_as_it_is() -> None:
    name = "Cijk_Ailk_Bljk_SB_MT128x128x32_MI32x32x1_SE"
    of = scene((name, 300), device_name="AMD Instinct MI300X")
    advice = finding(detect(context(of)))
    assert advice.variant == "float32"
    assert "TF32" not in advice.text
