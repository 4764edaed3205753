"""Memory, python and collective tables with their links into the slices; impossible measures of
kernels are null and counted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import annotation, frame, kernel, memory, op, step, trace
from torch_tb_profiler.trace.model import Trace


def name_of(built: Trace, slice_id: int | None) -> str | None:
    return None if slice_id is None else built.text(built.slices["name_code"][slice_id])


def test_memory_is_in_time_order_with_owner_and_frame() -> None:
    events = [
        frame("model.py(7): forward", 0, 100),
        op("aten::to", 10, 50),
        op("aten::empty", 20, 10),
        memory(30, -512, address=1),
        memory(25, 512, address=1, allocated=512, reserved=1024),
        memory(60, 64),
        memory(10, 8, tid=2),
        memory(200, 8, device_type=0),
    ]
    built = trace(events)
    rows = built.memory.rows(named=True)
    owners = [(row["time_ns"], row["bytes"], name_of(built, row["owner"])) for row in rows]
    assert owners == [
        (10_000, 8, None),
        (25_000, 512, "aten::empty"),
        (30_000, -512, "aten::to"),
        (60_000, 64, None),
        (200_000, 8, None),
    ]
    assert [name_of(built, row["frame"]) for row in rows] == [
        None,
        *["model.py(7): forward"] * 3,
        None,
    ]
    assert [row["address"] for row in rows] == [None, 1, 1, None, None]
    assert [row["total_allocated_bytes"] for row in rows] == [None, 512, None, None, None]


def test_memory_of_a_collapsed_operator_belongs_to_the_one_that_is_shown() -> None:
    built = trace([op("aten::to", 0, 50), op("aten::to", 10, 20), memory(15, 512)])
    assert built.memory["owner"].to_list() == [0]


def test_frames_nest_apart_from_operators() -> None:
    events = [
        frame("nn.Module: Net_0", 0, 100, python_id=1, module=0),
        op("aten::mm", 10, 50),
        frame("forward", 5, 200, python_id=2, parent=1),
        annotation("later", 120, 10),
    ]
    built = trace(events)
    slices = {built.text(row["name_code"]): row for row in built.slices.rows(named=True)}
    assert slices["aten::mm"]["parent"] is None
    assert name_of(built, slices["aten::mm"]["frame"]) == "forward"
    assert name_of(built, slices["later"]["frame"]) == "forward"
    assert slices["forward"]["lane"] == 1, "it outlives the module frame it starts in"
    assert built.quality.counts["overlapping_slices"] == 1
    python = built.python.rows(named=True)
    assert [name_of(built, row["slice"]) for row in python] == ["nn.Module: Net_0", "forward"]
    assert [row["module_id"] for row in python] == [0, None]


def test_device_ranges_make_trees_of_their_own_and_are_no_work() -> None:
    ranges = [
        kernel("outer", 0, 100, cat="gpu_user_annotation"),
        kernel("inner", 10, 20, cat="gpu_user_annotation"),
    ]
    built = trace([*ranges, kernel("k", 12, 5)])
    assert built.slices["depth"].to_list() == [0, 1, None]
    assert built.slices["parent"].to_list() == [None, 0, None]
    assert built.device_work.height == 1


def test_collectives_point_at_their_slices() -> None:
    args: dict[str, Any] = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024}
    built = trace([kernel("nccl", 10, 5, **args), op("first", 0, 1), kernel("k", 0, 5)])
    (row,) = built.collectives.rows(named=True)
    assert name_of(built, row["slice"]) == "nccl"
    assert (built.text(row["dtype_code"]), row["in_nelems"], row["sequence"]) == (
        "Float",
        1024,
        None,
    )
    assert row["is_async"] is None


def measures(**args: Any) -> tuple[float | None, float | None, int]:
    """Blocks per multiprocessor, occupancy, and kernels counted as impossible."""
    built = trace([step(1, 0, 100), kernel("k", 0, 10, **args)])
    (row,) = built.device_work.select("blocks_per_sm", "est_achieved_occupancy_pct").rows()
    return (*row, built.quality.counts.get("impossible_measure", 0))


@pytest.mark.parametrize(
    ("occupancy", "warps", "expected"),
    [
        (35, 22.4, 35),
        (0, 0, 0),
        (0, None, 0),
        (0, 0.3, 0),  # 0.3 of 64 warps are 0.47 %, which is written as 0
        (0, 0.64, None),
        (0, 14.5, None),
        (100, 64, 100),
        (101, 64, None),
        (-1, 4, None),
    ],
)
def test_impossible_occupancies_are_null(
    occupancy: float, warps: float | None, expected: float | None
) -> None:
    measured = measures(blocks=1, occupancy=occupancy, **{"warps per SM": warps})

    assert measured == (1, expected, expected is None)


@pytest.mark.parametrize(("blocks", "expected"), [(0, 0), (2.5, 2.5), (-1, None), (1e13, None)])
def test_impossible_blocks_are_null(blocks: float, expected: float | None) -> None:
    assert measures(blocks=blocks) == (expected, None, expected is None)


def test_a_kernel_of_two_is_counted_once() -> None:
    assert measures(blocks=-1, occupancy=500) == (None, None, 1)
    assert measures() == (None, None, 0)
