"""Small traces worked through by hand (FX1 …), as far as the trace itself answers them: steps,
operator times, owners of kernels."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.helpers.traces import Event, call, kernel, memcpy, memset, op, slice_event, trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace

STEP = "ProfilerStep#"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def launch(ts: float, dur: float, *, tid: int = 123, ext: int, corr: int) -> Event:
    return call("cudaLaunchKernel", ts, dur, tid=tid, ext=ext, corr=corr, cat="Runtime")


def o(name: str, ts: float, dur: float, ext: int, tid: int = 123) -> Event:
    return op(name, ts, dur, tid=tid, ext=ext, cat="Operator")


def steps_of(built: Trace) -> list[tuple[str, float, float, bool]]:
    """Name, start and end in µs, kept."""
    return [
        (row["name"], row["start_ns"] / 1000, row["end_ns"] / 1000, row["kept"])
        for row in built.steps.iter_rows(named=True)
    ]


def operators(built: Trace) -> dict[str, tuple[int, float, float, float, float]]:
    """Operator name → calls, host total, host self, device total, device self in µs."""
    rows = built.slices.filter(
        pl.col("category") == Category.OPERATOR, pl.col("absorbed_into").is_null()
    )
    table: dict[str, tuple[int, float, float, float, float]] = {}
    for row in rows.iter_rows(named=True):
        name = str(built.text(row["name_code"]))
        calls, *sums = table.get(name, (0, 0.0, 0.0, 0.0, 0.0))
        keys = ("dur_ns", "self_ns", "device_total_ns", "device_self_ns")
        added: Any = [total + row[key] / 1000 for total, key in zip(sums, keys, strict=True)]
        table[name] = (calls + 1, *added)
    return table


def owners(built: Trace) -> list[tuple[str, str | None, str | None]]:
    """Work name, owner name, orphan reason in order of start."""
    names = built.slices["name_code"]
    return [
        (
            str(built.text(row["name_code"])),
            built.text(names[row["owner"]]) if row["owner"] is not None else None,
            row["orphan_reason"],
        )
        for row in built.device_work.sort("start_ns").iter_rows(named=True)
    ]


def test_fx1_all_roles() -> None:
    built = trace(
        [
            o(LOADER, 100, 180, 2),
            o("aten::to", 200, 60, 3),
            o("aten::nll_loss_backward", 340, 70, 4, tid=456),
            o(STEP + "1", 50, 400, 1),
            memcpy(405, 10, ext=4, corr=334),
            launch(360, 20, tid=456, ext=4, corr=334),
            memset(420, 5, ext=4, corr=40344),
            launch(390, 10, tid=456, ext=4, corr=40344),
            kernel("k", 430, 15, ext=4, corr=40348),
            launch(405, 5, tid=456, ext=4, corr=40348),
        ]
    )
    assert steps_of(built) == [("1", 50, 450, True)]
    assert operators(built) == {
        "aten::to": (1, 60, 60, 0, 0),
        "aten::nll_loss_backward": (1, 70, 35, 30, 30),
    }
    categories = built.slices["category"].to_list()
    assert categories.count(Category.DATALOADER) == 1
    assert built.device_work["device"].to_list() == [0, 0, 0]


def test_fx2_no_step() -> None:
    built = trace(
        [
            o("aten::to", 100, 60, 3),
            o("nll", 300, 70, 4, tid=456),
            kernel("k", 320, 100, ext=4, corr=1),
            launch(310, 20, tid=456, ext=4, corr=1),
        ]
    )
    assert steps_of(built) == [("0", 100, 420, True)]
    assert built.steps["slice"].to_list() == [None]
    assert operators(built)["nll"] == (1, 70, 50, 100, 100)
    assert built.quality.counts["no_steps"] == 1
    assert built.slices["step"].to_list() == [0, 0, 0, 0]


FX3_HOST = [
    o(STEP + "1", 100, 200, 1),
    o("aten::to", 200, 60, 2),
    o(STEP + "2", 350, 150, 3),
    o("aten::mm", 360, 50, 4),
    launch(250, 5, ext=2, corr=334),
    launch(400, 5, ext=4, corr=48),
    kernel("k", 410, 200, ext=4, corr=48),
]


def test_fx3_two_steps() -> None:
    built = trace([*FX3_HOST, memcpy(280, 40, ext=2, corr=334)])
    assert steps_of(built) == [("1", 100, 320, True), ("2", 350, 610, True)]
    assert built.steps["device_events"].to_list() == [1, 1]


def test_fx4_work_spilling_over() -> None:
    orphan = kernel("orphan", 150, 90, ext=123, corr=123)
    built = trace([*FX3_HOST, memcpy(280, 100, ext=2, corr=334), orphan])
    assert steps_of(built) == [("1", 240, 380, True), ("2", 380, 610, True)]
    assert owners(built)[0] == ("orphan", None, "no_launch")
    assert built.quality.counts["kernel_without_launch"] == 1


def test_fx5_tail_removal() -> None:
    built = trace(
        [
            o(STEP + "1", 100, 200, 1),
            o(STEP + "2", 300, 100, 5),
            o(STEP + "3", 400, 50, 6),
            o("aten::to", 120, 10, 2),
            kernel("orphan", 90, 20, ext=123, corr=123),
            launch(125, 5, ext=2, corr=334),
            kernel("k", 150, 180, ext=2, corr=334),
        ]
    )
    assert [row for row in steps_of(built) if row[3]] == [("1", 110, 330, True)]
    assert built.steps["kept"].to_list() == [True, False, False]
    assert built.quality.counts["step_left_out"] == 2


def test_fx6_self_time() -> None:
    built = trace(
        [
            o("mat_mul", 100, 100, 2, tid=456),
            o("aten::mm", 120, 40, 4, tid=456),
            kernel("k", 155, 20, ext=4, corr=334),
            launch(150, 10, tid=456, ext=4, corr=334),
            kernel("k", 210, 16, ext=2, corr=335),
            launch(170, 25, tid=456, ext=2, corr=335),
        ]
    )
    assert operators(built) == {"mat_mul": (1, 100, 35, 36, 16), "aten::mm": (1, 40, 30, 20, 20)}


def fx7(step: tuple[float, float] | None = None) -> Trace:
    steps = [o(f"{STEP}1", *step, 1)] if step else []
    return trace(
        [
            *steps,
            o("mat_mul", 100, 100, 2),
            o("mm", 120, 70, 4),
            kernel("A", 130, 10, ext=4, corr=11, device=1, blocks=0.5, occupancy=0.6),
            kernel("B", 135, 15, ext=2, corr=12, device=1, blocks=0.6, occupancy=0.1),
            kernel("B", 150, 0, ext=2, corr=12, device=1, blocks=0.3, occupancy=0.2),
            kernel("A", 145, 25, ext=4, corr=13, device=1, blocks=0.3, occupancy=1.0),
            kernel("A", 200, 20, ext=2, corr=14, device=1, blocks=10.5, occupancy=0.3),
            launch(120, 0, ext=4, corr=11),
            launch(120, 0, ext=2, corr=12),
            launch(125, 3, ext=4, corr=13),
            launch(195, 1, ext=2, corr=14),
        ]
    )


def test_fx7_owners_at_the_edge_and_properties() -> None:
    built = fx7()
    assert steps_of(built) == [("0", 100, 220, True)]
    assert [(name, owner) for name, owner, _ in owners(built)] == [
        ("A", "mm"),
        ("B", "mat_mul"),
        ("A", "mm"),
        ("B", "mat_mul"),
        ("A", "mat_mul"),
    ]
    work = built.device_work.sort("start_ns")
    assert work["blocks_per_sm"].to_list() == [0.5, 0.6, 0.3, 0.3, 10.5]
    assert work["est_achieved_occupancy_pct"].to_list() == [0.6, 0.1, 1.0, 0.2, 0.3]
    assert work["device"].unique().to_list() == [1]


def test_fx8_device_time_through_a_parent() -> None:
    built = trace(
        [
            o("aten::conv2d", 200, 100, 3),
            o("op_no_tc", 205, 10, 4),
            o("aten::cudnn_convolution", 215, 10, 5),
            kernel("kernel_no_tc", 210, 10, ext=4, corr=4001),
            kernel("volta_fp16_s884cudnn_fp16", 220, 15, ext=5, corr=5001),
            launch(205, 5, ext=4, corr=4001),
            launch(215, 5, ext=5, corr=5001),
        ]
    )
    assert operators(built) == {
        "aten::conv2d": (1, 100, 80, 25, 0),
        "op_no_tc": (1, 10, 5, 10, 10),
        "aten::cudnn_convolution": (1, 10, 5, 15, 15),
    }


def test_fx13_external_ids_settle_calls_at_an_operators_edge() -> None:
    calls = [(120, 4, 5), (120, 2, 6), (190, 4, 7), (190, 2, 8)]
    built = trace(
        [
            o("mat_mul", 100, 100, 2),
            o("mm", 120, 70, 4),
            *(launch(ts, 0, ext=ext, corr=100 + dur) for ts, ext, dur in calls),
            *(kernel("k", 300, dur, ext=ext, corr=100 + dur) for _, ext, dur in calls),
        ]
    )
    table = operators(built)
    assert table["mm"][3:] == (12, 12)
    assert table["mat_mul"][3:] == (26, 14)


@pytest.mark.parametrize("launcher_ext", [1, 2, 3])
def test_fx14_doubles_lose_no_kernel(launcher_ext: int) -> None:
    built = trace(
        [
            o("mm", 100, 100, 1),
            o("mm", 110, 80, 2),
            o("mm", 120, 60, 3),
            launch({1: 101, 2: 112, 3: 130}[launcher_ext], 2, ext=launcher_ext, corr=9),
            kernel("k", 200, 8, ext=launcher_ext, corr=9),
        ]
    )
    assert operators(built) == {"mm": (1, 100, 98, 8, 8)}
    assert built.slices["absorbed_into"].drop_nulls().to_list() == [0, 0]
    assert owners(built) == [("k", "mm", None)]
    assert built.device_work["owner"].to_list() == [0]


def test_doubles_keep_the_kernels_of_the_outer_call_too() -> None:
    built = trace(
        [
            o("a", 0, 100, 1),
            o("a", 10, 80, 2),
            launch(5, 1, ext=1, corr=91),
            launch(15, 1, ext=2, corr=92),
            kernel("k1", 200, 10, ext=1, corr=91),
            kernel("k2", 220, 20, ext=2, corr=92),
        ]
    )
    assert operators(built) == {"a": (1, 100, 98, 30, 30)}


def test_fx15_one_call_two_kernels() -> None:
    built = trace(
        [
            o("aten::conv", 0, 50, 1),
            launch(10, 5, ext=1, corr=7),
            kernel("k1", 20, 120318, ext=1, corr=7),
            kernel("k2", 200000, 132800, ext=1, corr=7),
        ]
    )
    assert operators(built)["aten::conv"][3:] == (253118, 253118)


def test_fx16_launch_properties() -> None:
    shapes = [([16, 16, 16], 15), ([16, 16, 16], 10), ([16, 16, 64], 13), ([16, 16, 16], 17)]
    host = [
        slice_event("Operator", name, 100 * i, 50, pid=1, tid=1, **{"External id": i + 1})
        for i, name in enumerate(["op1", "op1", "op1", "op2"])
    ]
    device = [
        kernel("k", 1000 + 50 * i, dur, corr=50 + i, ext=i + 1, block=block)
        for i, (block, dur) in enumerate(shapes)
    ]
    calls = [
        slice_event(
            "Runtime", "cudaLaunchKernel", 100 * i + 10, 5, pid=1, tid=1, correlation=50 + i
        )
        for i in range(4)
    ]
    built = trace([*host, *device, *calls])
    work = built.device_work.with_columns(
        operator=built.slices["name_code"].gather(built.device_work["owner"])
    )
    groups = work.group_by("name_code", "operator", "block_code", maintain_order=True).agg(
        pl.len(), pl.col("dur_ns").sum()
    )
    rows = [
        (built.text(operator), built.text(block), calls, total / 1000)
        for _, operator, block, calls, total in groups.rows()
    ]
    assert sorted(rows) == [
        ("op1", "[16, 16, 16]", 2, 25),
        ("op1", "[16, 16, 64]", 1, 13),
        ("op2", "[16, 16, 16]", 1, 17),
    ]
    assert work["grid_code"].to_list() == [None] * 4
