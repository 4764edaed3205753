"""Call stacks against walking the frames one by one, and their sources in old and new traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from tests.helpers.examples import examples
from torch_tb_profiler.analysis.operators.call_stacks import (
    Frame,
    call_stacks,
    frames_of,
    has_call_stacks,
    parse_frame,
    parse_stack,
)
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.trace.model import Trace


def stack_of(trace: Trace, name: str) -> str | None:
    """The stack of the only slice of that name."""
    codes = trace.slices["name_code"].to_list()
    (slice_id,) = [i for i, code in enumerate(codes) if trace.text(code) == name]
    stacks = call_stacks(trace)
    return stacks.text(int(stacks.code[slice_id]))


@pytest.mark.parametrize(
    ("text", "file", "line", "function", "jumpable"),
    [
        ("train.py(12): step", "train.py", 12, "step", True),
        ("/home/me/my (old).d/a(1).py(3): f", "/home/me/my (old).d/a(1).py", 3, "f", True),
        ("C:\\work\\a.py(9): <lambda>", "C:\\work\\a.py", 9, "<lambda>", True),
        ("a.py(0): f", "a.py", 0, "f", False),
        ("torch/nn/modules/conv.py(454): forward", "torch/nn/modules/conv.py", 454, "forward", 0),
        ("/venv/torch/nn/x.py(4): forward", "/venv/torch/nn/x.py", 4, "forward", True),
        ("<string>(1): <module>", "<string>", 1, "<module>", False),
        ("<built-in method add>", None, None, "<built-in method add>", False),
        ("nn.Module: Conv2d_0", None, None, "nn.Module: Conv2d_0", False),
        ("", None, None, "", False),
    ],
)
def test_a_frame_is_taken_apart(
    text: str, file: str | None, line: int | None, function: str, jumpable: bool
) -> None:
    assert parse_frame(text) == Frame(text, file, line, function, bool(jumpable))


def test_a_stack_is_its_frames_innermost_first() -> None:
    assert [f.line for f in parse_stack("a.py(1): f;b.py(2): g")] == [1, 2]
    assert parse_stack(None) == ()
    assert parse_stack("") == ()


def test_the_argument_comes_before_the_frames() -> None:
    trace = t.trace(
        [
            t.frame("main.py(1): main", 0, 100, python_id=1),
            t.op("aten::a", 10, 5, stack="x.py(3): f;y.py(4): g;"),
            t.op("aten::b", 20, 5),
        ]
    )
    assert stack_of(trace, "aten::a") == "x.py(3): f;y.py(4): g"
    assert stack_of(trace, "aten::b") == "main.py(1): main"


def test_addresses_of_objects_do_not_keep_stacks_apart() -> None:
    trace = t.trace(
        [
            t.frame("<built-in method add of Tensor object at 0x7f01>", 0, 10, python_id=1),
            t.op("aten::a", 2, 5),
            t.frame("<built-in method add of Tensor object at 0x7f02>", 20, 10, python_id=2),
            t.op("aten::b", 22, 5),
        ]
    )
    assert stack_of(trace, "aten::a") == "<built-in method add of Tensor object>"
    stacks = call_stacks(trace)
    assert len(set(stacks.code[stacks.code >= 0].tolist())) == 1


def test_a_kernel_has_the_stack_of_its_launching_operator() -> None:
    trace = t.trace(
        [
            t.frame("main.py(1): main", 0, 100, python_id=1),
            t.op("aten::mm", 10, 20),
            t.call("cudaLaunchKernel", 12, 3, corr=7),
            t.kernel("gemm", 200, 10, corr=7),
            t.call("cudaMemcpyAsync", 40, 3, corr=8),
            t.memcpy(220, 10, corr=8, name="Memcpy outside operators"),
            t.kernel("orphan", 240, 10, corr=99),
        ]
    )
    assert stack_of(trace, "gemm") == "main.py(1): main"
    assert stack_of(trace, "Memcpy outside operators") == "main.py(1): main"
    assert stack_of(trace, "orphan") is None


def test_a_trace_without_stacks_has_none() -> None:
    trace = t.trace([t.op("aten::a", 0, 10)])
    assert stack_of(trace, "aten::a") is None
    assert frames_of(trace, 0) == ()
    assert call_stacks(trace).count == 0
    assert not has_call_stacks(trace)


def test_stacks_are_of_frames_or_of_arguments() -> None:
    assert has_call_stacks(t.trace([t.op("aten::a", 0, 10, stack="x.py(3): f")]))
    assert has_call_stacks(t.trace([t.frame("a.py(1): f", 0, 9, python_id=1), t.op("a", 1, 1)]))


@st.composite
def nested_frames(draw: st.DrawFn) -> list[t.Event]:
    """Python frames and operators that nest, with few names, so that stacks repeat."""
    events: list[t.Event] = []

    def fill(begin: int, end: int, depth: int) -> None:
        at = begin
        while at + 4 <= end and draw(st.booleans()):
            length = draw(st.integers(3, end - at))
            name = draw(st.sampled_from(["a.py(1): f", "b.py(2): g", "nn.Module: M_0"]))
            if depth and draw(st.booleans()):
                events.append(t.op(f"aten::{len(events)}", at, 2))
            events.append(t.frame(name, at, length, python_id=len(events)))
            fill(at + 1, at + length - 1, depth + 1)
            at += length + 1
        if depth and at < end:
            events.append(t.op(f"aten::{len(events)}", at, 1))

    fill(0, 120, 0)
    return events


@given(nested_frames())
@examples(60)
def test_stacks_equal_the_frames_around_each_operator(events: list[t.Event]) -> None:
    trace = t.trace(events)
    frames = [e for e in events if e["cat"] == "python_function"]
    expected = {}
    for event in events:
        if event["cat"] != "cpu_op":
            continue
        around = [f for f in frames if f["ts"] <= event["ts"] < f["ts"] + f["dur"]]
        around.sort(key=lambda f: (-f["ts"], f["dur"]))
        expected[event["name"]] = ";".join(f["name"] for f in around) or None
    assert {name: stack_of(trace, name) for name in expected} == expected
    assert has_call_stacks(trace) or not any(expected.values())
    stacks = call_stacks(trace)
    texts = stacks.texts(range(stacks.count))
    assert len(set(texts)) == len(texts)


def test_a_stack_of_3000_frames_needs_no_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "levels=4000")
    frames = [t.frame(f"a.py({n + 1}): f", n, 8000 - 2 * n, python_id=n) for n in range(3000)]
    trace = t.trace([*frames, t.op("aten::a", 3500, 5)])
    text = stack_of(trace, "aten::a")
    assert text is not None
    assert text.count(";") == 2999
    assert text.startswith("a.py(3000): f;a.py(2999): f;")


def test_operators_of_a_trace_of_today_have_stacks(samples: Path) -> None:
    with gzip.open(samples / "h100_bert_small/rank0.pt.trace.json.gz") as file:
        content = json.load(file)
    trace = t.trace(content["traceEvents"])
    stacks = call_stacks(trace)
    operators = trace.operators["slice"].to_numpy()
    assert (stacks.code[operators] >= 0).mean() > 0.99
    assert (stacks.code[trace.device_work["slice"].to_numpy()] >= 0).all()
    frames = frames_of(trace, int(trace.device_work["slice"][0]))
    assert frames[-1].function == "<module>"
    assert any(f.jumpable and f.file and "modeling_bert" in f.file for f in frames)
