"""The operators view against worked fixtures.

Cases: FX1–FX3 costs, FX6 self time, FX8 Tensor Cores, FX13 ids at the edge, FX14 doubles and
their kernels, FX15 one call with two kernels; groupings; what is no operator; selections by step
and time; CPU-only; eligibility through children and kernels.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import (
    Event,
    annotation,
    call,
    frame,
    kernel,
    memcpy,
    memset,
    op,
    step,
    trace,
)
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.views.operators.columns import GROUP_BYS, NO_SHAPES, NO_STACKS
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.schema import View

COSTS = ("calls", "host_total_us", "host_self_us", "device_total_us", "device_self_us")


def rows(view: View) -> list[dict[str, Any]]:
    return view.tables["operators"].frame.to_dicts()


def costs(events: list[Event], **selection: Any) -> dict[str, list[float]]:
    view = operators(trace(events), Selection(**selection))
    return {row["name"]: [row[key] for key in COSTS] for row in rows(view)}


def launch(ts: float, dur: float, corr: int, **where: Any) -> Event:
    return call("cudaLaunchKernel", ts, dur, corr=corr, **where)


FX6 = [
    op("mat_mul", 100, 100, tid=456, ext=2),
    op("aten::mm", 120, 40, tid=456, ext=4),
    kernel("k", 155, 20, ext=4, corr=334),
    launch(150, 10, 334, tid=456, ext=4),
    kernel("k", 210, 16, ext=2, corr=335),
    launch(170, 25, 335, tid=456, ext=2),
]


def test_fx6_self_time() -> None:
    assert costs(FX6) == {"mat_mul": [1, 100, 35, 36, 16], "aten::mm": [1, 40, 30, 20, 20]}


def test_fx13_external_ids_at_the_edge() -> None:
    result = costs(
        [
            op("mat_mul", 100, 100, ext=2),
            op("mm", 120, 70, ext=4),
            launch(120, 0, 1, ext=4),
            launch(120, 0, 2, ext=2),
            launch(190, 0, 3, ext=4),
            launch(190, 0, 4, ext=2),
            kernel("a", 200, 5, corr=1, ext=4),
            kernel("b", 210, 6, corr=2, ext=2),
            kernel("c", 220, 7, corr=3, ext=4),
            kernel("d", 230, 8, corr=4, ext=2),
        ]
    )
    assert [result["mm"][4], result["mm"][3]] == [12, 12]
    assert [result["mat_mul"][3], result["mat_mul"][4]] == [26, 14]


def test_fx14_doubles_count_once_and_lose_no_kernel() -> None:
    nested = [op("mm", 100, 100), op("mm", 110, 80), op("mm", 120, 60)]
    inner = [launch(130, 5, 1), kernel("k", 140, 8, corr=1)]
    result = costs([*nested, *inner])
    assert result == {"mm": [1, 100, 95, 8, 8]}
    # The predecessor dropped what the outer one launched.
    outer = [launch(105, 5, 2), kernel("k", 150, 10, corr=2)]
    assert costs([*nested, *inner, *outer])["mm"] == [1, 100, 90, 18, 18]


def test_fx15_one_call_two_kernels() -> None:
    result = costs(
        [
            op("mm", 100, 100),
            launch(110, 5, 7),
            kernel("a", 200, 120318, corr=7),
            kernel("b", 200, 132800, corr=7, stream=8),
        ]
    )
    assert result["mm"][3] == 253118


FX8 = [
    op("aten::conv2d", 200, 100, ext=3),
    op("op_no_tc", 205, 10, ext=4),
    op("aten::cudnn_convolution", 215, 10, ext=5),
    kernel("kernel_no_tc", 210, 10, ext=4, corr=4),
    kernel("volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1", 220, 15, corr=5),
    launch(205, 5, 4, ext=4),
    launch(215, 5, 5, ext=5),
]


def test_fx8_tensor_cores() -> None:
    result = {row["name"]: row for row in rows(operators(trace(FX8), Selection()))}
    conv, other, cudnn = (
        result[name] for name in ("aten::conv2d", "op_no_tc", "aten::cudnn_convolution")
    )
    assert conv["tensor_core_eligible"] is True
    assert conv["tensor_core_self_pct"] == 0
    assert conv["tensor_core_total_pct"] is None
    bounds = [conv[f"tensor_core_total_{bound}_pct"] for bound in ("min", "max")]
    assert bounds == pytest.approx([60, 100])
    assert cudnn["tensor_core_eligible"] is True
    assert (cudnn["tensor_core_self_pct"], cudnn["tensor_core_total_pct"]) == (100, 100)
    # The predecessor said No and 0; no rule knows this operator or its kernel.
    assert other["tensor_core_eligible"] is None
    assert other["tensor_core_self_pct"] is None
    reasons = operators(trace(FX8), Selection()).tables["operators"].null_reasons
    assert {"tensor_core_eligible", "tensor_core_self_pct"} <= set(reasons)


def test_copies_do_not_make_an_unknown_kernel_known() -> None:
    """100 µs of a kernel no rule knows and 1 µs of a set: unknown, not 0 %. With a known kernel of
    50 µs beside, it is 50 to 150 of 151 µs, no value; with copies alone it is 0."""
    unknown = [launch(1, 1, 1), kernel("gemm_nobody_knows", 300, 100, corr=1)]
    known = [launch(3, 1, 2), kernel("volta_fp16_s884gemm_fp16_64x64", 500, 50, corr=2)]
    copies = [launch(5, 1, 3), memset(700, 1, corr=3)]

    def shares(*launches: list[Event]) -> list[float | None]:
        inner = [event for part in launches for event in part]
        events = [op("custom::outer", 0, 50), op("custom::op", 0.5, 40), *inner]
        table = operators(trace(events), Selection()).tables["operators"]
        result = {row["name"]: row for row in table.frame.to_dicts()}
        own, around = result["custom::op"], result["custom::outer"]
        kinds = ("", "min_", "max_")
        of_self, of_total = (
            [own[f"tensor_core_{stem}_{kind}pct"] for kind in kinds] for stem in ("self", "total")
        )
        assert of_self == of_total == [around[f"tensor_core_total_{kind}pct"] for kind in kinds]
        if of_self[0] is None:
            assert "Tensor Core use" in table.null_reasons["tensor_core_self_pct"]
        return of_self

    assert shares(unknown) == [None, None, None]
    assert shares(unknown, copies) == [None, None, None]
    value, *bounds = shares(unknown, known, copies)
    assert value is None
    assert bounds == pytest.approx([5000 / 151, 15000 / 151])
    assert shares(copies) == [0, 0, 0]
    assert shares(known, copies) == pytest.approx([5000 / 51] * 3)


def test_eligible_through_what_is_inside_or_was_launched() -> None:
    events = [
        op("wrapper", 0, 100),
        op("inner_wrapper", 10, 80),
        annotation("user range", 20, 60),
        op("aten::mm", 30, 10),
        op("aten::relu", 110, 20),
        op("custom::op", 140, 20),
        launch(145, 5, 1),
        kernel("volta_fp16_s884gemm_fp16_64x64", 150, 5, corr=1),
        op("custom::other", 170, 20),
    ]
    table = rows(operators(trace(events), Selection()))
    assert {row["name"]: row["tensor_core_eligible"] for row in table} == {
        "wrapper": True,
        "inner_wrapper": True,
        "aten::mm": True,
        "aten::relu": False,
        "custom::op": True,
        "custom::other": None,
    }


def test_what_is_no_operator_has_no_row() -> None:
    events = [
        step(1, 0, 1000),
        op("DataParallel.forward", 10, 10),
        op("DistributedDataParallel.forward", 30, 10),
        op("Optimizer.step#SGD.step", 50, 10),
        op("Optimizer.anything", 70, 10),
        op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 90, 10),
        annotation("my range", 110, 50),
        op("aten::add", 120, 10),
        op("python thing", 200, 10, cat="python"),
    ]
    assert list(costs(events)) == ["aten::add"]


STACKED = [
    op("aten::mm", 0, 10, shape=[[2]], stack="b.py(1): g;a.py(2): f"),
    op("aten::mm", 20, 10, shape=[[2]], stack="c.py(1): h"),
    op("aten::mm", 40, 10, shape=[[3], []], stack="c.py(1): h"),
    op("aten::mm", 60, 10),
]


@pytest.mark.parametrize(
    ("group_by", "expected"),
    [
        ("name", {(None, None): 4}),
        ("name+input_shape", {("[[2]]", None): 2, ("[[3], []]", None): 1, (None, None): 1}),
        (
            "name+call_stack",
            {(None, "b.py(1): g;a.py(2): f"): 1, (None, "c.py(1): h"): 2, (None, None): 1},
        ),
        (
            "name+input_shape+call_stack",
            {
                ("[[2]]", "b.py(1): g;a.py(2): f"): 1,
                ("[[2]]", "c.py(1): h"): 1,
                ("[[3], []]", "c.py(1): h"): 1,
                (None, None): 1,
            },
        ),
    ],
)
def test_groupings(group_by: str, expected: dict[tuple[str | None, str | None], int]) -> None:
    view = operators(trace(STACKED), Selection(group_by=group_by))
    result = {(row["input_shape"], row["call_stack"]): row["calls"] for row in rows(view)}
    assert result == expected
    assert group_by in GROUP_BYS
    reasons = view.tables["operators"].null_reasons
    assert (reasons["input_shape"] == NO_SHAPES) == ("input_shape" in group_by)
    assert (reasons["call_stack"] == NO_STACKS) == ("call_stack" in group_by)


@pytest.mark.parametrize(
    ("group_by", "shapes", "stacks"),
    [
        ("name", "name+input_shape", "name+call_stack"),
        ("name+call_stack", "name+input_shape+call_stack", None),
        ("name+input_shape", None, "name+input_shape+call_stack"),
    ],
)
def test_what_is_not_grouped_by_says_which_grouping_does(
    group_by: str, shapes: str | None, stacks: str | None
) -> None:
    reasons = operators(trace(STACKED), Selection(group_by=group_by)).tables["operators"]
    for key, better in (("input_shape", shapes), ("call_stack", stacks)):
        if better is not None:
            words = key.replace("_", " ")
            actual = f"Rows are not grouped by {words}: use group_by={better}."
            assert reasons.null_reasons[key] == actual
            assert better in GROUP_BYS


def test_call_stacks_come_from_python_frames_too() -> None:
    events = [
        frame("train.py(3): main", 0, 100, python_id=1),
        frame("model.py(7): forward", 10, 50, python_id=2, parent=1),
        op("aten::mm", 20, 10),
        op("aten::mm", 70, 10),
    ]
    table = rows(operators(trace(events), Selection(group_by="name+call_stack")))
    assert {row["call_stack"] for row in table} == {
        "model.py(7): forward;train.py(3): main",
        "train.py(3): main",
    }


def test_an_unknown_grouping_is_an_error() -> None:
    with pytest.raises(SelectionError, match="group_by"):
        operators(trace(STACKED), Selection(group_by="module"))


def test_cpu_only_has_no_device_time() -> None:
    view = operators(trace([op("aten::mm", 0, 10), op("aten::add", 20, 30)]), Selection())
    table = view.tables["operators"]
    assert [row["name"] for row in rows(view)] == ["aten::add", "aten::mm"]
    for key in ("device_self_us", "device_total_us", "tensor_core_self_pct"):
        assert table.frame[key].null_count() == 2
        assert "no device work" in table.null_reasons[key]
    assert {fact.key: fact.value for fact in view.facts}["device_self_us"] is None


def test_default_order_is_device_self_then_host_self() -> None:
    table = rows(operators(trace([*FX6, op("aten::add", 300, 7)]), Selection()))
    assert [row["name"] for row in table] == ["aten::mm", "mat_mul", "aten::add"]


def test_copies_count_as_device_time() -> None:
    result = costs([op("aten::to", 0, 10), launch(2, 3, 1), memcpy(20, 40, corr=1)])
    assert result["aten::to"] == [1, 10, 7, 40, 40]


STEPPED = [
    step(1, 0, 100),
    op("aten::mm", 10, 20),
    launch(12, 2, 1),
    kernel("k", 150, 40, corr=1),
    step(2, 100, 100),
    op("aten::mm", 110, 20),
    op("aten::add", 150, 20),
    op("aten::late", 300, 20),
]


def test_selections_take_operators_by_their_start() -> None:
    assert costs(STEPPED, steps="1") == {"aten::mm": [1, 20, 18, 40, 40]}
    assert costs(STEPPED, steps="2") == {
        "aten::mm": [1, 20, 20, 0, 0],
        "aten::add": [1, 20, 20, 0, 0],
    }
    assert list(costs(STEPPED, start_ns=110_000, end_ns=150_000)) == ["aten::mm"]
    assert set(costs(STEPPED)) == {"aten::mm", "aten::add", "aten::late"}
    assert costs(STEPPED, start_ns=10**9) == {}


def test_facts_are_sums_over_the_rows() -> None:
    view = operators(trace(STEPPED), Selection())
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts == {
        "operator_count": 3,
        "operator_calls": 4,
        "host_self_us": 78,
        "device_self_us": 40,
        "operator_device_time_pct": 100,
    }


def test_device_time_is_unknown_when_no_launch_is_recorded() -> None:
    """Kernels without any call that launched them: 0 would be a claim."""
    events = [step(1, 0, 100), op("aten::mm", 10, 30), kernel("gemm", 20, 40)]
    view = operators(trace(events), Selection())
    outside, row = rows(view)
    assert (row["device_self_us"], row["device_total_us"]) == (None, None)
    assert (outside["name"], outside["kind"]) == (UNKNOWN_LAUNCH, "unlinked")
    assert (outside["calls"], outside["device_self_us"], outside["host_self_us"]) == (
        None,
        40,
        None,
    )
    assert "no launch" in view.tables["operators"].null_reasons["device_self_us"]
    fact = next(fact for fact in view.facts if fact.key == "device_self_us")
    assert fact.value is None
    launched = operators(
        trace([*events, call("cudaLaunchKernel", 60, 5, corr=1), kernel("x", 70, 5, corr=1)]),
        Selection(),
    )
    result = {row["name"]: row["device_self_us"] for row in rows(launched)}
    assert result == {UNKNOWN_LAUNCH: 40, "cudaLaunchKernel": 5, "aten::mm": 0}
