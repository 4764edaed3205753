"""Rates, bounds, roofs and MFU of hand-made traces, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.products import (
    BYTES,
    FLOPS,
    PEAK_US,
    M,
    facts,
    product,
    rows,
    traced,
)
from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.views.efficiency.view import efficiency


def test_a_product_at_half_of_its_peak() -> None:
    built = traced([step(1, 0, 1000)], product(10, 2 * PEAK_US, 1))
    (row,) = rows(efficiency(built, Selection()))
    assert (row["name"], row["calls"], row["kernels"]) == ("aten::mm", 1, 1)
    assert (row["flops"], row["bytes"]) == (FLOPS, BYTES)
    assert row["tflops_per_s"] == pytest.approx(989.4 / 2, rel=1e-3)
    assert row["gbytes_per_s"] == pytest.approx(BYTES / (2 * PEAK_US * 1e3), rel=1e-3)
    assert row["intensity_flop_per_byte"] == FLOPS / BYTES
    assert (row["bound"], row["dtype"], row["work"]) == ("compute", "bfloat16", "matrix")
    assert row["roof_pct"] == row["peak_pct"] == pytest.approx(50, rel=1e-3)
    assert row["recoverable_us"] == pytest.approx(PEAK_US, rel=1e-3)
    assert row["device_time_pct"] == 100


def test_mfu_is_over_the_whole_step_and_of_each_device() -> None:
    built = traced(
        [step(1, 0, 1000)], product(10, 400, 1), product(30, 400, 2, device=1),
        [step(2, 1000, 1000)], product(1010, 400, 3), product(1030, 400, 4),
        devices=2,
    )  # fmt: skip
    view = efficiency(built, Selection())
    result = facts(view)
    first = 3 * PEAK_US / 2000 * 100
    assert result["mfu_pct", "GPU 0"] == pytest.approx(first, rel=1e-6)
    assert result["mfu_pct", "GPU 1"] == pytest.approx(first / 3, rel=1e-6)
    assert result["mfu_pct", None] == pytest.approx(first * 2 / 3, rel=1e-6)
    assert result["model_flops_per_step", None] == 2 * FLOPS
    second = facts(efficiency(built, Selection(steps="2")))
    assert second["mfu_pct", "GPU 0"] == pytest.approx(2 * PEAK_US / 1000 * 100, rel=1e-6)
    assert ("mfu_pct", "GPU 1") not in second


def test_of_two_types_each_compares_with_its_own_peak() -> None:
    float32 = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n"
    built = traced(
        [step(1, 0, 5000)], product(10, 500, 1),
        product(30, 3000, 2, name=float32, dtype="float", size=2048),
    )  # fmt: skip
    result = facts(efficiency(built, Selection()))
    small = 2 * 2048**3
    at_peak_us = PEAK_US + small / 66.9e6
    assert result["mfu_pct", "GPU 0"] == pytest.approx(at_peak_us / 5000 * 100, rel=1e-6)
    assert result["peak_tflops", "GPU 0"] == pytest.approx((FLOPS + small) / at_peak_us / 1e6)
    assert result["peak_type", "GPU 0"] == "bfloat16, float32"
    share = small / (FLOPS + small) * 100
    assert result["model_flops_type_pct", "float32"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x64", "tf32"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n", "float32"),
        ("ampere_sgemm_128x64_tn", "float32"),
    ],
)
def test_float32_products_are_tf32_where_the_kernel_says_so(name: str, dtype: str) -> None:
    built = traced([step(1, 0, 1000)], product(10, 500, 1, name=name, dtype="float"))
    (row,) = rows(efficiency(built, Selection()))
    assert row["dtype"] == dtype
    peak = {"tf32": 494.7, "float32": 66.9}[dtype]
    assert row["peak_pct"] == pytest.approx(row["tflops_per_s"] / peak * 100)


def test_short_kernels_far_from_both_roofs_are_bound_by_latency() -> None:
    built = traced([step(1, 0, 1000)], product(10, 4, 1, size=32), product(50, 400, 2, size=2048))
    by_shape = Selection(group_by="operator+input_shape")
    bounds = {row["input_shape"]: row["bound"] for row in rows(efficiency(built, by_shape))}
    assert bounds == {"[[32, 32], [32, 32]]": "latency", "[[2048, 2048], [2048, 2048]]": "compute"}


def test_an_unknown_device_has_rates_and_no_roof_until_somebody_gives_peaks() -> None:
    built = traced([step(1, 0, 1000)], product(10, 500, 1), name="nobody's")
    view = efficiency(built, Selection())
    (row,) = rows(view)
    assert row["tflops_per_s"] == pytest.approx(FLOPS / 500e6)
    assert row["roof_pct"] is row["bound"] is row["recoverable_us"] is None
    assert "--peak" in view.tables["operators"].null_reasons["roof_pct"]
    (mfu,) = (fact for fact in view.facts if fact.key == "mfu_pct")
    assert mfu.value is None
    assert facts(view)["device_name", "GPU 0"] == "nobody's"
    assert mfu.reason == "The peak of nobody's for bfloat16 is unknown: specify it with --peak."
    assert view.series == {}
    given = efficiency(built, Selection(), peak="bf16=1000,bandwidth_gb_per_s=2000")
    (row,) = rows(given)
    assert row["peak_pct"] == pytest.approx(row["tflops_per_s"] / 10)
    assert facts(given)["peak_source", "GPU 0"] == "given by you"
    (roof,) = given.series["roofline"].lines
    assert (roof.name, roof.y[-1]) == ("bfloat16: 1000 TFLOP/s, memory 2000 GB/s", 1000)
    assert roof.x[1] == 500
    with pytest.raises(SelectionError, match=r"^peak: 'bf17' is none of"):
        efficiency(built, Selection(), peak="bf17=3")


def test_every_moment_of_device_time_is_in_one_row() -> None:
    """A product inside another operator, work of no formula, a copy from the host, and a kernel
    that no operator launched."""
    linear = op("aten::linear", 5, 30, shape=[[M, M], [M, M]])
    odd = [
        op("my::op", 100, 20, ext=7), call("cudaLaunchKernel", 101, 2, corr=7, ext=7),
        kernel("odd", 600, 30, corr=7, ext=7),
        op("my::copy", 140, 20, ext=8), call("cudaMemcpyAsync", 141, 2, corr=8, ext=8),
        memcpy(700, 25, corr=8, ext=8),
        call("cudaGraphLaunch", 180, 2, corr=9), kernel("k", 800, 45, corr=9),
    ]  # fmt: skip
    built = traced([step(1, 0, 1000), linear], product(10, 500, 1), odd)
    view = efficiency(built, Selection())
    times = {row["name"]: row["device_time_us"] for row in rows(view)}
    assert times == {"aten::mm": 500, "my::op": 30, "my::copy": 25, "cudaGraphLaunch": 45}
    result = facts(view)
    assert result["time_with_flops_pct", None] == pytest.approx(500 / 6)
    assert result["time_on_links_pct", None] == pytest.approx(25 / 6)
    assert result["time_without_work_pct", None] == pytest.approx(75 / 6)
    for group_by in ("operator+input_shape", "module", "type", "step"):
        again = rows(efficiency(built, Selection(group_by=group_by)))
        assert sum(row["device_time_us"] for row in again) == 600, group_by
        assert sum(row["flops"] or 0 for row in again) == FLOPS, group_by


def test_points_of_the_roofline_are_rows_of_the_table() -> None:
    sizes = range(64, 64 + 8 * 350, 8)
    events = [product(20 * n, 5 + n % 7, n + 1, size=size) for n, size in enumerate(sizes)]
    view = efficiency(
        traced([step(1, 0, 9000)], *events), Selection(group_by="operator+input_shape")
    )
    points, table = rows(view, "roofline_points"), rows(view)
    assert (len(points), len(table)) == (300, 350)
    for point in points:
        row = table[point.pop("row")]
        assert {key: row[key] for key in point} == point
    assert min(point["device_time_pct"] for point in points) == pytest.approx(
        sorted((row["device_time_pct"] for row in table), reverse=True)[299]
    )


def test_stated_flops_stand_beside_and_a_difference_is_noted() -> None:
    built = traced([step(1, 0, 1000)], product(10, 500, 1), product(30, 500, 2))
    assert "stated_flops_differ" not in {note.code for note in efficiency(built, Selection()).notes}
    events = [*product(10, 500, 1), *product(30, 500, 2)]
    events[0]["args"]["flops"] = FLOPS // 2
    view = efficiency(traced([step(1, 0, 1000), *events]), Selection())
    (row,) = rows(view)
    assert (row["flops"], row["stated_flops"]) == (2 * FLOPS, FLOPS // 2)
    assert row["stated_difference_pct"] == -50
    (note,) = (note for note in view.notes if note.code == "stated_flops_differ")
    assert "aten::mm -50 %" in note.text


def test_flops_that_are_stated_of_a_call_around_count_with_the_product_inside() -> None:
    around = op("aten::matmul", 9, 12, shape=[[M, M], [M, M]])
    around["args"]["flops"] = FLOPS
    view = efficiency(traced([step(1, 0, 1000), around], product(10, 500, 1)), Selection())
    (row,) = rows(view)
    assert (row["name"], row["stated_flops"], row["stated_difference_pct"]) == (
        "aten::mm",
        FLOPS,
        0,
    )


def test_a_recording_without_devices_has_work_and_no_rates() -> None:
    types: dict[str, Any] = {"Input type": ["float", "float"]}
    built = trace([step(1, 0, 100), op("aten::mm", 10, 20, shape=[[2, 3], [3, 4]], **types)])
    view = efficiency(built, Selection())
    (row,) = rows(view)
    assert (row["flops"], row["bytes"], row["device_time_us"]) == (48, 4 * (6 + 12 + 8), None)
    result = facts(view)
    assert (result["model_flops_per_step", None], result["mfu_pct", None]) == (48, None)
    assert "no device work" in view.tables["operators"].null_reasons["tflops_per_s"]


def test_work_other_than_products_needs_bytes_for_a_roof() -> None:
    """A sum whose types were not recorded: its FLOPs alone say nothing of how fast it could be."""
    untyped = [
        op("aten::sum", 10, 10, ext=1, shape=[[M, M]]),
        call("cudaLaunchKernel", 11, 2, corr=1, ext=1), kernel("reduce", 30, 40, corr=1, ext=1),
    ]  # fmt: skip
    (row,) = rows(efficiency(traced([step(1, 0, 100)], untyped), Selection()))
    assert (row["bytes"], row["roof_pct"], row["recoverable_us"]) == (None, None, None)


def test_what_a_file_tells_stands_beside_what_is_counted() -> None:
    flops = side_table("recorded_flops", "flops_0.txt", [
        {"level": "operator", "name": "MatMul", "flops": 4e9},
        {"level": "model", "flops": 8e9, "flops_per_s": 1e13, "utilization_pct": 4},
    ])  # fmt: skip
    types: dict[str, Any] = {"Input type": ["float", "float"]}
    event = op("aten::mm", 10, 20, shape=[[2, 3], [3, 4]], **types)
    view = efficiency(recorded([step(1, 0, 100), event], side=[flops]), Selection())
    assert [row["name"] for row in rows(view)] == ["aten::mm"]
    assert [(row["name"], row["flops"]) for row in rows(view, "recorded_flops")] == [
        ("MatMul", 4e9)
    ]
    told = [fact.value for fact in view.facts if fact.key == "model_flops_per_step"]
    assert told == [48, 8e9]
