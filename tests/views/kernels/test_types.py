"""Kernel time by class and data type: a trace by hand, and sums over random recordings."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.helpers.traces import kernel, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.kernels.view import kernels

BF16 = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
OTHER_BF16 = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64"
FP4 = "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x8x512u2_s3_sm100f"


@pytest.mark.parametrize("group_by", ["name", "name+operator+launch"])
def test_kernels_of_one_class_and_type_are_a_row(group_by: str) -> None:
    recorded = trace(
        [
            step(1, 0, 200),
            kernel(BF16, 0, 10),
            kernel(BF16, 20, 10),
            kernel(OTHER_BF16, 40, 40),
            kernel(FP4, 90, 20),
            kernel("lab_kernel", 120, 20),
        ]
    )
    table = kernels(recorded, Selection(group_by=group_by)).tables["kernel_types"]
    assert table.frame.rows() == [
        ("gemm", "bfloat16", 2, 3, 60, 60),
        ("gemm", "bfloat16, float8, float4", 1, 1, 20, 20),
        ("other", None, 1, 1, 20, 20),
    ]
    assert "data_types" in table.null_reasons


@given(recordings())
def test_rows_add_up_to_all_kernels(recording: Recording) -> None:
    view = kernels(trace(recording.events), Selection())
    facts = {fact.key: fact.value for fact in view.facts}
    frame = view.tables["kernel_types"].frame
    assert frame["calls"].sum() == facts["kernel_calls"]
    assert frame["kernels"].sum() == facts["kernel_count"]
    assert frame["total_us"].sum() == pytest.approx(facts["kernel_time_us"])
