"""Table ``alive`` and the levels by category: they add up to the curve at any time, on samples and
by hand."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers import traces as t
from tests.views.memory.test_truth import raw_events
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.memory.view import memory
from torch_tb_profiler.views.schema import View

SAMPLES = ("h100_bert_small", "cpu_resnet_full")


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request: pytest.FixtureRequest, samples: Path) -> tuple[Trace, list[t.Event]]:
    (path,) = (samples / request.param).glob("*.json.gz")
    events = raw_events(path)
    return t.trace(events), [e for e in events if e["name"] == "[memory]"]


def trained() -> Trace:
    """Two steps of a model with one weight, 24 bytes (2×3 float32), made in the recording; a loss
    is kept in a list, and Adam's state is made in the first step."""
    weight, taken = [[4, 2], [2, 3]], ["float", "float"]
    events: list[t.Event] = [
        t.op("aten::empty", 5, 2),
        t.memory(6, 24, address=1, allocated=124, reserved=500),
    ]
    for number, at in enumerate((100, 300)):
        total = 124 + 60 * number
        place = 10 * (number + 1)
        more: dict[str, Any] = {"Input type": taken, "Sequence number": number, "Fwd thread id": 0}
        node: dict[str, Any] = {"Sequence number": number, "Fwd thread id": 1}
        gradient: dict[str, Any] = {
            "Input type": ["float"],
            "Sequence number": -1,
            "Fwd thread id": 1,
        }
        events += [
            t.memory(at - 5, 32, address=place, allocated=total + 32, reserved=500),
            t.op("aten::mm", at, 10, shape=weight, **more),
            t.memory(at + 1, 48, address=place + 1, allocated=total + 80, reserved=500),
            t.memory(at + 2, 8, address=place + 2, allocated=total + 88, reserved=500),
            t.memory(at + 3, -8, address=place + 2, allocated=total + 80, reserved=500),
            t.op("MmBackward0", at + 20, 10, tid=2, **node),
            t.memory(at + 21, 24, address=place + 3, tid=2, allocated=total + 104, reserved=500),
            t.op("torch::autograd::AccumulateGrad", at + 32, 2, tid=2, shape=[[2, 3]], **gradient),
            t.memory(at + 33, -48, address=place + 1, tid=2, allocated=total + 56, reserved=500),
            t.op("Optimizer.step#Adam.step", at + 50, 20, cat="user_annotation"),
            t.memory(at + 80, -24, address=place + 3, allocated=total + 32, reserved=500),
            t.memory(at + 81, -32, address=place, allocated=total, reserved=500),
        ]
        if number == 0:
            events.append(t.memory(at + 51, 60, address=99, allocated=total + 116, reserved=500))
            for event in events[-3:-1]:
                event["args"]["Total Allocated"] += 60
    return t.trace(events)


def alive(trace: Trace, at_us: float | None) -> View:
    return memory(trace, Selection(), at_us=None if at_us is None else Decimal(str(at_us)))


def categories(view: View) -> dict[str, int]:
    frame = view.tables["alive"].frame
    return dict(frame.group_by("category").agg(pl.col("size_bytes").sum()).rows())


def test_rows_add_up_to_the_curve_at_random_times(
    sample: tuple[Trace, list[t.Event]],
) -> None:
    trace, events = sample
    chance = random.Random(5)
    times = [event["ts"] for event in events]
    first, last = min(times), max(times)
    for _ in range(40):
        at = chance.uniform(first, last)
        until = [
            event["args"] for event in sorted(events, key=lambda e: e["ts"]) if event["ts"] <= at
        ]
        view = memory(trace, Selection(), at_us=Decimal(str(at)))
        frame = view.tables["alive"].frame
        for kind, label in ((0, "CPU"), (1, "GPU 0")):
            of_device = [args for args in until if args["Device Type"] == kind]
            if of_device:
                rows = frame.filter(pl.col("device") == label)
                assert rows["size_bytes"].sum() == of_device[-1]["Total Allocated"]


def test_without_a_moment_it_is_the_peak_of_each_device(
    sample: tuple[Trace, list[t.Event]],
) -> None:
    trace, _ = sample
    view = memory(trace, Selection())
    peaks = dict(view.tables["memory_peaks"].frame.select("device", "peak_allocated_bytes").rows())
    for name in ("alive", "peak_categories"):
        frame = view.tables[name].frame.group_by("device").agg(pl.col("size_bytes").sum())
        assert dict(frame.rows()) == peaks
    told = {fact.scope: fact.value for fact in view.facts if fact.key == "alive_bytes"}
    assert told == peaks


def test_levels_by_category_add_up_to_the_allocated_curve(
    sample: tuple[Trace, list[t.Event]],
) -> None:
    trace, _ = sample
    series = memory(trace, Selection()).series
    allocated = {
        line.name.removesuffix(" allocated"): line for line in series["memory_curve"].lines
    }
    for label, line in allocated.items():
        if label.endswith("reserved"):
            continue
        parts = [
            part
            for part in series["memory_by_category"].lines
            if part.name.startswith(label) and not part.name.endswith("reserved")
        ]
        at = dict(zip(line.x, line.y, strict=True))
        sums = [sum(values) for values in zip(*(part.y for part in parts), strict=True)]
        # Of several events at one time the curve has several points: their last counts here.
        last = dict(zip(parts[0].x, sums, strict=True))
        assert {x: at[x] for x in last} == last
        assert max(sums) == max(value for value in line.y if value is not None)


@pytest.mark.parametrize(
    ("name", "workspace"), [("h100_bert_small", 32 << 20), ("mi300_bert_small", 0)]
)
def test_parameters_from_before_the_recording_are_those_of_bert_small(
    samples: Path, name: str, workspace: int
) -> None:
    """By the architecture, 2 bytes each; the rest is the same on both GPUs but for the workspace
    that cuBLAS keeps on the H100."""
    hidden, inner, words, places = 512, 2048, 30522, 512
    embeddings = (words + places + 2) * hidden + 2 * hidden
    layer = 4 * (hidden**2 + hidden) + 2 * hidden * inner + inner + hidden + 4 * hidden
    head = hidden**2 + hidden + 2 * hidden + words
    (path,) = (samples / name).glob("*.json.gz")
    frame = memory(t.trace(raw_events(path)), Selection()).tables["peak_categories"].frame
    earlier = frame.filter(pl.col("device") != "CPU").select("category", "earlier_bytes")
    assert dict(earlier.rows()) == {
        "parameter": 2 * (embeddings + 4 * layer + head),
        "temporary": 0,
        "unknown": workspace + 215_948,
    }


def test_categories_of_two_steps_by_hand() -> None:
    trace = trained()
    during_forward, during_backward = alive(trace, 102.5), alive(trace, 122)
    assert categories(during_forward) == {
        "parameter": 24,
        "input": 32,
        "activation": 48,
        "temporary": 8,
        "unknown": 100,
    }
    assert categories(during_backward) == {
        "parameter": 24,
        "input": 32,
        "activation": 48,
        "gradient": 24,
        "unknown": 100,
    }
    assert categories(alive(trace, 190)) == {"parameter": 24, "optimizer_state": 60, "unknown": 100}
    rows = during_backward.tables["alive"].frame.rows(named=True)
    gradient = next(row for row in rows if row["category"] == "gradient")
    assert gradient["phase"] == "backward"
    assert gradient["name"] == "MmBackward0"
    before = next(row for row in rows if row["name"] == "before the recording")
    assert (before["size_bytes"], before["is_estimated"]) == (100, True)
    assert before["allocation_us"] is None


def test_the_peak_is_said_to_be_where_it_is() -> None:
    facts = {fact.key: fact.value for fact in memory(trained(), Selection()).facts}
    assert facts["peak_allocated_bytes"] == 288
    assert facts["peak_phase"] == "backward"
    assert facts["peak_fragmentation_bytes"] == 500 - 288
    assert facts["max_fragmentation_bytes"] == 500 - 124


def test_passes_are_marked() -> None:
    trace = trained()
    lines = {
        line.name: line for line in memory(trace, Selection()).series["memory_by_category"].lines
    }
    origin = trace.meta.start_ns / 1000
    assert lines["forward start"].x[::3] == [100 - origin, 300 - origin]
    assert lines["forward start"].y[:3] == [0.0, 288.0, None]
    assert lines["backward end"].x[::3] == [134 - origin, 334 - origin]


def test_shapes_are_those_of_what_an_operator_took() -> None:
    size = 4 * 6 * 8
    taken: dict[str, Any] = {"Input type": ["double", ""]}
    trace = t.trace(
        [
            t.op("aten::relu", 10, 5, shape=[[4, 6], []], **taken),
            t.memory(11, size, address=1, device_type=0, allocated=size),
            t.op("aten::view", 20, 5, shape=[[6, 4]], **taken),
            t.memory(30, size + 1, address=2, device_type=0, allocated=2 * size + 1),
            t.memory(40, 512, address=3, allocated=512),
        ]
    )
    frame = alive(trace, 50).tables["alive"].frame
    told = dict(
        zip(frame["size_bytes"], zip(frame["shape"], frame["dtype"], strict=True), strict=True)
    )
    assert told == {size: ("[6, 4]", "float64"), size + 1: (None, None), 512: (None, None)}


def test_before_and_after_everything() -> None:
    trace = trained()
    assert categories(alive(trace, -50)) == {"unknown": 100}
    assert categories(alive(trace, 10_000)) == categories(alive(trace, 390))
