"""Layout conversions around convolutions, and transposes that are none."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import TENSOR_CORE_GEMM, awaited, context, finding, launched, one_step
from tests.helpers.traces import Event, kernel, op
from torch_tb_profiler.detectors.layout_transposes import detect

NCHW_TO_NHWC = "void nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>"
NHWC_TO_NCHW = (
    "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, true, false, "
    "(cudnnKernelDataType_t)0>"
)
CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x64"
MIOPEN_TRANSPOSE = "batched_transpose_32x32_dword.kd"
COPY = (
    "void at::native::elementwise_kernel<128, 2, "
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>"
)


def scene(operator: str, first: str, main: str, last: str) -> list[Event]:
    """An operator with three kernels of 20, 100 and 10 µs, launched before the first runs."""
    events = [
        op(operator, 0, 40),
        *launched(first, 50, 20, 1, launch_at=1),
        *launched(main, 70, 100, 2, launch_at=3),
        *launched(last, 170, 10, 3, launch_at=5),
    ]
    return awaited(events, 45)


def test_conversions_around_a_convolution_are_reported() -> None:
    events = scene("aten::cudnn_convolution", NCHW_TO_NHWC, CONVOLUTION, NHWC_TO_NCHW)
    advice = finding(detect(context(one_step(events, length=200))))
    assert advice.measured == pytest.approx(30 / 130 * 100)
    assert advice.gain_us == pytest.approx(0.9 * 30)
    assert [row["kernel"] for row in advice.rows] == [NCHW_TO_NHWC, NHWC_TO_NCHW]
    assert advice.rows[0]["operator"] == "aten::cudnn_convolution"
    assert "channels_last" in advice.text


def test_transposes_launched_by_a_convolution_count() -> None:
    scene_of = ("aten::miopen_convolution", MIOPEN_TRANSPOSE, "igemm_fwd_gtcx", MIOPEN_TRANSPOSE)
    advice = finding(detect(context(one_step(scene(*scene_of), length=200))))
    assert advice.rows[0]["calls"] == 2


def test_transposes_of_anything_else_are_not() -> None:
    heads = scene("aten::copy_", COPY, TENSOR_CORE_GEMM, COPY)
    assert detect(context(one_step(heads, length=200))) is None
    scales = scene("aten::mm", MIOPEN_TRANSPOSE, TENSOR_CORE_GEMM, MIOPEN_TRANSPOSE)
    assert detect(context(one_step(scales, length=200))) is None


def test_a_few_conversions_are_not() -> None:
    events = [*scene("aten::cudnn_convolution", NCHW_TO_NHWC, CONVOLUTION, NHWC_TO_NCHW)]
    events += launched(CONVOLUTION, 200, 600, 9, launch_at=10)
    assert detect(context(one_step(events))) is None


def test_without_operators_only_names_with_image_layouts_count() -> None:
    plain = [kernel(MIOPEN_TRANSPOSE, 0, 50), kernel("igemm_fwd_gtcx", 50, 50)]
    assert detect(context(one_step(plain, length=100))) is None
    advice = detect(context(one_step([kernel(NCHW_TO_NHWC, 0, 50)], length=100)))
    assert advice is not None
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(45)
    assert "limits the step" not in advice.text
