"""Lower bounds, notes and other types of hand-made traces, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.products import (
    FLOPS,
    GEMM,
    H100,
    PEAK_US,
    M,
    facts,
    product,
    rows,
    traced,
)
from tests.helpers.recorded import recorded
from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.info import ProgramSettings
from torch_tb_profiler.views.efficiency.view import efficiency


@pytest.mark.parametrize(
    ("name", "dur", "is_bounded"),
    [
        (GEMM, 100, True),
        (GEMM, 40, False),
        ("fused_moe_kernel", 100, True),
        ("flash_fwd_kernel", 100, True),
        ("lab_kernel_17", 100, True),
        ("void at::native::vectorized_elementwise_kernel<4>", 100, False),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, False),
    ],
)
def test_mfu_is_a_lower_bound_beside_products_without_flops(
    name: str, dur: float, is_bounded: bool
) -> None:
    """Beside 400 µs of a counted product a kernel that nothing counts, of a replayed graph."""
    graph = [call("cudaGraphLaunch", 500, 2, corr=2), kernel(name, 510, dur, corr=2)]
    result = facts(efficiency(traced([step(1, 0, 1000)], product(10, 400, 1), graph), Selection()))
    share = pytest.approx(PEAK_US / 1000 * 100, rel=1e-6)
    assert result["mfu_pct", "GPU 0"] == (None if is_bounded else share)
    assert result.get(("mfu_min_pct", "GPU 0")) == (share if is_bounded else None)
    assert result["model_flops_per_step", None] == (None if is_bounded else FLOPS)
    assert result.get(("model_flops_min_per_step", None)) == (FLOPS if is_bounded else None)


def test_an_operator_without_weights_leaves_a_lower_bound() -> None:
    """The weights of the experts are no operands of vLLM's operator."""
    experts = [
        op("vllm::moe_forward", 500, 10, ext=2, shape=[[8, 64], [8, 4], []]),
        call("cudaLaunchKernel", 501, 2, corr=2, ext=2),
        kernel("fused_moe_kernel", 520, 300, corr=2, ext=2),
    ]
    view = efficiency(traced([step(1, 0, 1000)], product(10, 400, 1), experts), Selection())
    (mfu,) = (fact for fact in view.facts if fact.key == "mfu_pct")
    assert mfu.value is None
    assert mfu.reason is not None
    assert mfu.reason.startswith("42.9 % of the kernel time")


def test_products_on_the_host_are_no_work_of_a_device() -> None:
    types: dict[str, Any] = {"Input type": ["float", "float"]}
    on_host = op("aten::mm", 60, 20, shape=[[M, M], [M, M]], **types)
    built = traced([step(1, 0, 1000), on_host], product(10, 500, 1))
    view = efficiency(built, Selection())
    (row,) = rows(view)
    assert (row["calls"], row["flops"]) == (1, FLOPS)
    assert facts(view)["model_flops_per_step", None] == FLOPS


@pytest.mark.parametrize(("count", "is_noted"), [(16, True), (132, False), (None, False)])
def test_a_slice_of_a_gpu_is_noted(count: int | None, is_noted: bool) -> None:
    properties = [{**H100, "id": 0, **({} if count is None else {"numSms": count})}]
    built = trace([step(1, 0, 1000), *product(10, 500, 1)], deviceProperties=properties)
    codes = {note.code for note in efficiency(built, Selection()).notes}
    assert ("part_of_a_gpu" in codes) is is_noted


@pytest.mark.parametrize(
    ("told", "dtype"),
    [
        ({}, "float32"),
        ({"tf32_matmul": True}, "tf32"),
        ({"matmul_precision": "high"}, "tf32"),
        ({"matmul_precision": "highest"}, "float32"),
        ({"tf32_cudnn": True}, "float32"),
    ],
)
def test_where_kernels_tell_nothing_the_settings_decide(told: dict[str, Any], dtype: str) -> None:
    events = [step(1, 0, 1000), *product(10, 500, 1, name="mystery", dtype="float")]
    built = recorded(events, settings=ProgramSettings(**told))
    (row,) = rows(efficiency(built, Selection(), peak="tf32=100,float32=10"))
    assert row["dtype"] == dtype


def test_a_call_beyond_its_roof_makes_up_for_no_other() -> None:
    """One product takes twice the time of its peak, one half of it: the first could still save
    the time at the peak once, whatever the other did."""
    built = traced([step(1, 0, 9000)], product(10, 2 * PEAK_US, 1), product(2000, PEAK_US / 2, 2))
    (row,) = rows(efficiency(built, Selection()))
    assert row["roof_pct"] == pytest.approx(2 / 2.5 * 100, rel=1e-3)
    assert row["recoverable_us"] == pytest.approx(PEAK_US, rel=1e-3)


def test_copies_have_no_flops_per_second() -> None:
    shape = [[1024, 1024], [1024, 1024], []]
    types: dict[str, Any] = {"Input type": ["float", "float", "Scalar"]}
    built = traced(
        [step(1, 0, 1000)],
        [
            op("aten::copy_", 10, 10, ext=1, shape=shape, **types),
            call("cudaLaunchKernel", 11, 2, corr=1, ext=1),
            kernel("elementwise_kernel", 30, 10, corr=1, ext=1),
        ],
    )
    (row,) = rows(efficiency(built, Selection()))
    assert (row["flops"], row["tflops_per_s"]) == (0, None)
    assert row["gbytes_per_s"] == pytest.approx(2 * 4 * 1024**2 / 10e3, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "is_noted"),
    [
        ("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", True),
        ("miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", True),
        ("void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*)", True),
        ("volta_scudnn_128x64_relu_interior_nn_v1", False),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nchw", False),
    ],
)
def test_convolutions_with_fewer_operations_are_noted(name: str, is_noted: bool) -> None:
    shape = [[32, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []]
    inputs = ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
    arguments: dict[str, Any] = {
        "Input type": ["float", "float", *[""] * 7],
        "Concrete Inputs": inputs,
    }
    built = traced(
        [step(1, 0, 1000)],
        [
            op("aten::convolution_overrideable", 10, 10, ext=1, shape=shape, **arguments),
            call("cudaLaunchKernel", 11, 2, corr=1, ext=1),
            kernel(name, 30, 700, corr=1, ext=1),
        ],
    )
    view = efficiency(built, Selection())
    (row,) = rows(view)
    assert row["work"] == "convolution"
    notes = [note for note in view.notes if note.code == "fewer_operations"]
    assert [note.evidence["time_us"] for note in notes] == ([700] if is_noted else [])


@pytest.mark.parametrize(
    ("size", "dur", "bound"),
    [
        # 2 x 128^3 FLOPs at 989.4 TFLOP/s and 98 kB at 3350 GB/s: 0.03 us, which nothing reaches.
        (128, 30, "latency"),
        # 139 us at the peak: a kernel that takes ten times as long is a bad one.
        (4096, 1390, "compute"),
        (128, 0.1, "memory"),
    ],
)
def test_kernels_with_too_little_to_do_are_bound_by_latency(
    size: int, dur: float, bound: str
) -> None:
    built = traced([step(1, 0, 9000)], product(10, dur, 1, size=size))
    (row,) = rows(efficiency(built, Selection()))
    assert row["bound"] == bound


def test_the_backward_pass_is_not_said_to_be_empty_where_it_is_not_marked() -> None:
    """As torch 1.8 records a training: operators of the backward pass, but no nodes of autograd."""
    shape = [[], [4, 8, 16, 16], [8, 8, 3, 3], [], [], [], [], []]
    backward = op("aten::mkldnn_convolution_backward_input", 30, 10, shape=shape)
    forward = facts(efficiency(traced([step(1, 0, 100)], product(10, 1, 1)), Selection()))
    assert forward["model_flops_backward_pct", None] == 0
    types: dict[str, Any] = {"Input type": ["float", "float"]}
    product_of_host = op("aten::mm", 50, 10, shape=[[4, 4], [4, 4]], **types)
    on_host = trace([step(1, 0, 100), backward, product_of_host])
    view = efficiency(on_host, Selection())
    fact = next(fact for fact in view.facts if fact.key == "model_flops_backward_pct")
    assert fact.value is None
    assert "backward" in (fact.reason or "")


def test_unknown_products_of_the_host_are_told() -> None:
    """A convolution whose stride was not recorded, in a recording without devices."""
    shape = [[4, 3, 16, 16], [8, 3, 3, 3], [8], [], [], [], []]
    types: dict[str, Any] = {"Input type": ["float", "float"]}
    built = trace(
        [
            step(1, 0, 100),
            op("aten::mkldnn_convolution", 10, 10, shape=shape),
            op("aten::mm", 30, 10, shape=[[4, 4], [4, 4]], **types),
        ]
    )
    view = efficiency(built, Selection())
    (note,) = (note for note in view.notes if note.code == "unknown_flops")
    assert note.evidence["calls"] == 1
    assert "device time" not in note.text
