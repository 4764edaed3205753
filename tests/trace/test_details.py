"""Memory, python and collective tables with their links into the slices."""

from __future__ import annotations

from typing import Any

from tests.helpers.traces import annotation, frame, kernel, memory, op, trace
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
