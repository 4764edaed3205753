"""The kernels view against worked fixtures and the slow reference.

Cases: FX1 one row, FX7 weighted means by name and by operator, FX7 outside the steps, FX8 Tensor
Cores, FX16 property grouping; orphans and copies; means of what is absent or lasts 0; selections;
random traces.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.helpers.traces import call, kernel, memcpy, memset, op, step, trace
from tests.views import reference
from tests.views.operators.test_view import FX8
from tests.views.overview.test_view import FX1, FX7
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.kernels.tensor_core_time import NO_KERNEL_TIME
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.kernels.view import SPEC, kernels
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.schema import View

BY_LAUNCH = Selection(group_by="name+operator+launch")
KEY = ("name", "operator", "grid", "block", "registers_per_thread", "shared_memory_bytes")
MEASURES = (
    "calls",
    "total_us",
    "mean_us",
    "min_us",
    "max_us",
    "mean_blocks_per_sm",
    "mean_est_achieved_occupancy_pct",
)


def rows(view: View) -> list[dict[str, Any]]:
    return view.tables["kernels"].frame.to_dicts()


def test_fx1_copies_and_sets_are_no_kernels() -> None:
    [row] = rows(kernels(trace(FX1), Selection()))
    assert (row["name"], row["calls"], row["total_us"]) == ("k", 1, 15)


def test_fx7_by_name() -> None:
    result = {row["name"]: row for row in rows(kernels(trace(FX7), Selection()))}
    means = ("calls", "mean_blocks_per_sm", "mean_est_achieved_occupancy_pct")
    assert [result["A"][key] for key in means] == pytest.approx([3, 4.0455, 0.6727], abs=5e-5)
    assert [result["B"][key] for key in means] == pytest.approx([2, 0.6, 0.1])
    assert result["A"]["operator"] is None


def test_fx7_by_operator() -> None:
    result = {
        (row["name"], row["operator"]): (
            row["mean_blocks_per_sm"],
            row["mean_est_achieved_occupancy_pct"],
        )
        for row in rows(kernels(trace(FX7), BY_LAUNCH))
    }
    assert result == {
        ("A", "mm"): pytest.approx((0.3571, 0.8857), abs=5e-5),
        ("B", "mat_mul"): pytest.approx((0.6, 0.1)),
        ("A", "mat_mul"): pytest.approx((10.5, 0.3)),
    }


def test_fx7_kernels_outside_the_steps_have_rows() -> None:
    recorded = trace(
        [
            step(1, 100, 100),
            kernel("A", 60, 20, blocks=0.5, occupancy=0.6),
            kernel("A", 240, 25, blocks=10.5, occupancy=0.3),
        ]
    )
    [row] = rows(kernels(recorded, Selection()))
    assert row["mean_blocks_per_sm"] == pytest.approx((20 * 0.5 + 25 * 10.5) / 45)
    assert row["mean_est_achieved_occupancy_pct"] == pytest.approx((20 * 0.6 + 25 * 0.3) / 45)


def test_fx8_tensor_cores() -> None:
    result = {row["operator"]: row for row in rows(kernels(trace(FX8), BY_LAUNCH))}
    assert result["aten::cudnn_convolution"]["tensor_core_used"] is True
    assert result["aten::cudnn_convolution"]["operator_tensor_core_eligible"] is True
    assert result["op_no_tc"]["tensor_core_used"] is None
    facts = {fact.key: fact.value for fact in kernels(trace(FX8), Selection()).facts}
    assert facts["tensor_core_time_pct"] is None
    assert facts["tensor_core_time_min_pct"] == pytest.approx(60)
    assert facts["tensor_core_time_max_pct"] == pytest.approx(100)
    assert facts["no_tensor_core_time_min_pct"] == 0
    assert facts["no_tensor_core_time_max_pct"] == pytest.approx(40)
    assert facts["unknown_tensor_core_time_pct"] == pytest.approx(40)
    assert facts["kernel_time_us"] == 25


def tensor_core_facts(*events: dict[str, Any]) -> list[tuple[Any, Any]]:
    facts = {fact.key: fact for fact in kernels(trace(events), Selection()).facts}
    keys = ("tensor_core_time_pct", "no_tensor_core_time_pct", "unknown_tensor_core_time_pct")
    return [(facts[key].value, facts[key].reason) for key in keys]


def test_unknown_tensor_core_use_is_null_as_in_the_overview() -> None:
    unknown = kernel("gemm_nobody_knows", 0, 30)
    events = [step(1, 0, 100), unknown, memset(40, 5)]
    (of_gpu,) = [
        fact
        for fact in overview(trace(events), Selection()).facts
        if fact.key == "tensor_core_time_pct"
    ]
    assert of_gpu.value is None
    reason = of_gpu.reason
    assert reason is not None
    assert tensor_core_facts(*events) == [(None, reason), (None, reason), (100, None)]
    # 30 µs unknown beside 10 µs that use none: a bound of 0 says little.
    known = kernel("vectorized_elementwise_kernel", 50, 10)
    used, unused, rest = tensor_core_facts(unknown, known)
    assert (used[0], unused[0], rest) == (None, None, (75, None))
    assert "between 0.0 % and 75.0 %" in used[1]
    assert "between 25.0 % and 100.0 %" in unused[1]
    # 3 of 43 µs: the bound is the value.
    little = kernel("gemm_nobody_knows", 0, 3)
    known = kernel("vectorized_elementwise_kernel", 50, 40)
    assert tensor_core_facts(little, known)[0] == (0, None)
    nothing = "The selection holds no kernel time."
    assert tensor_core_facts(kernel("zero", 0, 0)) == [(None, nothing)] * 3


def test_columns_of_the_launch_say_which_grouping_fills_them() -> None:
    table = kernels(trace(FX1), Selection()).tables["kernels"]
    for key in (*KEY[1:], "operator_tensor_core_eligible"):
        assert table.frame[key].null_count() == table.frame.height
        assert "group_by=name+operator+launch" in table.null_reasons[key]
    by_launch = kernels(trace(FX1), BY_LAUNCH).tables["kernels"]
    assert not any("group_by" in text for text in by_launch.null_reasons.values())


def test_fx16_property_grouping() -> None:
    def launched(corr: int, dur: float, block: list[int], at: float) -> list[dict[str, Any]]:
        return [
            call("cudaLaunchKernel", at, 1, corr=corr),
            kernel("K", 1000 + corr * 100, dur, corr=corr, block=block),
        ]

    events = [op("op1", 0, 50), op("op2", 60, 30)]
    events += launched(1, 15, [16, 16, 16], 5) + launched(2, 10, [16, 16, 16], 10)
    events += launched(3, 13, [16, 16, 64], 15) + launched(4, 17, [16, 16, 16], 65)
    table = rows(kernels(trace(events), BY_LAUNCH))
    result = [
        [row[key] for key in ("operator", "block", "calls", "total_us", "mean_us", "min_us")]
        for row in table
    ]
    assert result == [
        ["op1", "[16, 16, 16]", 2, 25, 12.5, 10],
        ["op2", "[16, 16, 16]", 1, 17, 17, 17],
        ["op1", "[16, 16, 64]", 1, 13, 13, 13],
    ]
    assert table[0]["max_us"] == 15


def test_orphans_have_a_row_and_a_reason() -> None:
    view = kernels(trace([step(1, 0, 50), kernel("lost", 10, 5, corr=9)]), BY_LAUNCH)
    [row] = rows(view)
    assert row["operator"] is None
    assert row["operator_tensor_core_eligible"] is None
    assert "launch was not recorded" in view.tables["kernels"].null_reasons["operator"]
    assert "kernel_without_launch" in [note.code for note in view.notes]


def test_means_of_what_is_absent_or_lasts_0() -> None:
    recorded = trace(
        [
            kernel("zero", 0, 0, blocks=0.5),
            kernel("zero", 5, 0, blocks=1.5),
            kernel("some", 10, 10, blocks=2),
            kernel("some", 30, 30),
            kernel("none", 70, 10, occupancy=-1),
        ]
    )
    view = kernels(recorded, Selection())
    means = {row["name"]: row["mean_blocks_per_sm"] for row in rows(view)}
    assert means == {"zero": 1.0, "some": 2.0, "none": None}
    assert view.tables["kernels"].frame["mean_est_achieved_occupancy_pct"].null_count() == 3
    assert "mean_blocks_per_sm" in view.tables["kernels"].null_reasons


def test_selections_take_kernels_by_the_step_of_their_launch() -> None:
    recorded = trace(
        [
            step(1, 0, 100),
            op("mm", 10, 50),
            call("cudaLaunchKernel", 20, 5, corr=1),
            step(2, 100, 100),
            kernel("late", 150, 20, corr=1),
            kernel("lost", 160, 20, corr=99),
        ]
    )

    def names(selection: Selection) -> list[str]:
        return [row["name"] for row in rows(kernels(recorded, selection))]

    assert names(Selection(steps="1")) == ["late"]
    assert names(Selection(steps="2")) == []
    assert names(Selection()) == ["late", "lost"]
    assert names(Selection(start_ns=155_000)) == ["lost"]


def test_missing_without_kernels() -> None:
    assert SPEC.missing(trace(FX1)) is None
    assert SPEC.missing(trace([op("mm", 0, 5), memcpy(10, 5)])) is None
    assert SPEC.missing(trace([op("mm", 0, 5), call("cudaMalloc", 1, 2)])) is None
    reason = SPEC.missing(trace([op("mm", 0, 5)]))
    assert reason is not None
    assert "no kernel" in reason
    facts = {f.key: f for f in kernels(trace([op("mm", 0, 5)]), Selection()).facts}
    assert facts["tensor_core_time_pct"].value is None
    assert facts["tensor_core_time_pct"].reason


def with_owner_steps(recording: Recording) -> dict[str, tuple[int, int]]:
    recorded = trace(recording.events).steps
    return {
        row["name"]: (row["host_start_ns"], row["host_end_ns"])
        for row in recorded.iter_rows(named=True)
    }


@given(recordings())
def test_random_traces_agree_with_the_reference(recording: Recording) -> None:
    selection = recording.selection
    reading = reference.read(recording.events)
    launch_of = {
        event["args"]["correlation"]: reference.ns(event["ts"])
        for event in recording.events
        if event["cat"] == "cuda_runtime"
    }
    steps = with_owner_steps(recording)

    def selected(piece: dict[str, Any]) -> bool:
        start = reference.ns(piece["ts"])
        launch = launch_of.get(piece["args"]["correlation"])
        inside = bool(piece["cat"] == "kernel")
        if selection.steps is not None:
            first, last = steps[selection.steps]
            inside &= launch is not None and first <= launch < last
        if selection.start_ns is not None:
            inside &= start >= selection.start_ns
        if selection.end_ns is not None:
            inside &= start < selection.end_ns
        return inside

    recorded = trace(recording.events)
    chosen = list(filter(selected, reading.device))
    for group_by in ("name", "name+operator+launch"):

        def key(piece: dict[str, Any], group_by: str = group_by) -> tuple[Any, ...]:
            full = reference.kernel_key(piece)
            return full if "launch" in group_by else (full[0], *[None] * 5)

        expected = reference.kernel_sums(chosen, key)
        view = kernels(
            recorded, Selection(selection.steps, selection.start_ns, selection.end_ns, group_by)
        )
        result = {tuple(row[k] for k in KEY): tuple(row[m] for m in MEASURES) for row in rows(view)}
        assert result.keys() == expected.keys()
        for group, values in expected.items():
            assert result[group] == pytest.approx(values)


def test_communication_is_told_from_the_name_and_from_the_range_that_launched_it() -> None:
    recorded = trace(
        [
            op("aten::mm", 0, 10),
            call("cudaLaunchKernel", 1, 1, corr=1),
            kernel("ampere_sgemm_128x64_nn", 20, 5, corr=1),
            op("nccl:all_reduce", 40, 10),
            call("cudaLaunchKernel", 41, 1, corr=2),
            kernel("kernel_of_somebody", 60, 5, corr=2),
            kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 80, 5, corr=3),
        ]
    )
    for selection in (Selection(), BY_LAUNCH):
        table = kernels(recorded, selection).tables["kernels"]
        assert dict(table.frame.select("name", "communication").rows()) == {
            "ampere_sgemm_128x64_nn": False,
            "kernel_of_somebody": True,
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)": True,
        }


def test_tensor_core_time_is_of_the_whole_selection() -> None:
    names = ("ampere_fp16_s16816gemm_fp16_64x64_nn", "kernel_of_somebody", "vectorized_elementwise")
    view = kernels(
        trace([kernel(name, 10 * at, 5 - at, corr=at) for at, name in enumerate(names)]),
        Selection(),
    )
    time_us = {True: 0.0, False: 0.0, None: 0.0}
    for row in rows(view):
        time_us[row["tensor_core_used"]] += row["total_us"]
    table = view.tables["tensor_core_time"].frame
    assert table["use"].to_list() == ["Used", "Not used", "Unknown"]
    assert table["total_us"].to_list() == [time_us[True], time_us[False], time_us[None]]
    assert table["calls"].sum() == len(names)
    assert table["pct"].sum() == pytest.approx(100)


def test_the_share_of_compute_leaves_communication_out() -> None:
    """64 of 1 000 µs are 6.4 % of all kernel time, and 24 % of what is not communication."""
    view = kernels(
        trace(
            [
                kernel("ampere_fp16_s16816gemm_fp16_64x64_nn", 0, 64),
                kernel("vectorized_elementwise", 100, 203),
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 400, 733),
            ]
        ),
        Selection(),
    )
    table = view.tables["tensor_core_time"].frame
    assert table["pct"].to_list() == pytest.approx([6.4, 93.6, 0])
    assert table["compute_pct"].to_list() == pytest.approx([6400 / 267, 20300 / 267, 0])
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts["tensor_core_time_pct"] == pytest.approx(6.4)
    assert facts["compute_tensor_core_time_pct"] == pytest.approx(6400 / 267)


def test_tensor_core_time_of_no_kernel_and_of_no_time() -> None:
    nothing = kernels(trace([kernel("a", 10, 5)]), Selection(start_ns=10**6))
    assert nothing.tables["tensor_core_time"].frame.is_empty()
    table = kernels(trace([kernel("a", 10, 0)]), Selection()).tables["tensor_core_time"]
    assert table.frame["pct"].to_list() == [None] * 3
    assert table.null_reasons["pct"] == NO_KERNEL_TIME
