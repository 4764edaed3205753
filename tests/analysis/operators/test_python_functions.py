"""Python code inside operators: a worked example, and counting moment by moment on random traces.

The figures of PyTorch's own tables for a recording of non-reentrant checkpointing, whose hooks are
Python inside backward nodes, are Host self − Host Python to the µs (torch 2.14.1).
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import Event, call, frame, kernel, op, trace
from torch_tb_profiler.analysis.operators.python_functions import python_inside
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.operators.columns import NO_FRAMES
from torch_tb_profiler.views.operators.view import operators

HOOKED = [
    frame("train.py(3): main", 0, 400, python_id=1),
    op("AddmmBackward0", 100, 200),
    frame("checkpoint.py(9): unpack_hook", 110, 100, python_id=2, parent=1),
    frame("model.py(7): forward", 120, 80, python_id=3, parent=2),
    op("aten::mm", 130, 40),
    call("cudaLaunchKernel", 240, 10, corr=1),
    kernel("gemm", 260, 30, corr=1),
]


def test_hooks_are_part_of_host_self_and_said() -> None:
    view = operators(trace(HOOKED), Selection())
    keys = ("host_total_us", "host_self_us", "host_python_us")
    rows = view.tables["operators"].frame.rows(named=True)
    found = {row["name"]: [row[key] for key in keys] for row in rows}
    assert found == {"AddmmBackward0": [200, 150, 60], "aten::mm": [40, 40, 0]}


def test_without_frames_it_is_unknown() -> None:
    table = operators(trace([op("aten::mm", 0, 5)]), Selection()).tables["operators"]
    assert table.frame["host_python_us"].to_list() == [None]
    reason = table.null_reasons["host_python_us"]
    assert reason == f"{NO_FRAMES.removesuffix('.')} (with_stack=True records them)."


def test_a_double_leaves_its_python_to_the_one_around_it() -> None:
    events = [op("f", 0, 50), op("f", 10, 30), frame("a.py(1): g", 15, 20, python_id=1)]
    (row,) = operators(trace(events), Selection()).tables["operators"].frame.rows(named=True)
    assert (row["calls"], row["host_self_us"], row["host_python_us"]) == (1, 50, 20)


@st.composite
def nested(draw: st.DrawFn) -> list[Event]:
    """Frames, operators and calls that nest in any way on one thread."""
    events: list[Event] = []

    def fill(begin: int, end: int) -> None:
        at = begin
        while at + 4 <= end and draw(st.booleans()):
            length = draw(st.integers(3, end - at))
            kind = draw(st.sampled_from(["frame", "frame", "op", "call"]))
            if kind == "call":
                events.append(call("cudaMalloc", at, length))
            elif kind == "frame":
                events.append(frame("a.py(1): f", at, length, python_id=len(events)))
            else:
                events.append(op(f"aten::{len(events)}", at, length))
            if kind != "call":
                fill(at + 1, at + length - 1)
            at += length + 1

    fill(0, 120)
    return events


@given(nested())
@examples(80)
def test_it_is_what_counting_every_moment_gives(events: list[Event]) -> None:
    expected = {e["name"]: 0 for e in events if e["cat"] == "cpu_op"}
    for moment in range(130):
        around = [e for e in events if e["ts"] <= moment < e["ts"] + e["dur"]]
        kinds = [e["cat"] for e in around]
        if "cpu_op" in kinds and kinds[-1] == "python_function":
            last = len(kinds) - 1 - kinds[::-1].index("cpu_op")
            expected[around[last]["name"]] += 1
    recorded = trace(events)
    python_ns = python_inside(recorded)
    names = recorded.slices["name_code"].to_list()
    texts = [str(recorded.text(code)) for code in names]
    found = dict(zip(texts, python_ns.tolist(), strict=True))
    assert {name: found[name] / 1000 for name in expected} == expected
    frame_of = operators(recorded, Selection()).tables["operators"].frame
    if recorded.python.height:
        assert (frame_of["host_python_us"] <= frame_of["host_self_us"]).all()


def test_frames_of_another_thread_are_none_of_it() -> None:
    events = [op("aten::mm", 0, 50), frame("a.py(1): g", 10, 20, python_id=1, tid=2)]
    (row,) = operators(trace(events), Selection()).tables["operators"].frame.rows(named=True)
    assert row["host_python_us"] == 0
