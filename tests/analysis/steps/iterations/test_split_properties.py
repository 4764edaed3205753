"""Whatever cuts a recording, nothing of it is lost; bad input gets a clear answer."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.opening import open_file
from tests.helpers.traces import Event, annotation, call, kernel, op, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.iterations import split as splitting
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations, split_of
from torch_tb_profiler.analysis.steps.iterations.windows import iterations
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.views.iterations.bars import iterations_table


@st.composite
def _recordings(draw: st.DrawFn) -> list[Event]:
    """Operators of three names on two threads, that nest, cross and touch, some with a kernel."""
    events: list[Event] = []
    for number in range(draw(st.integers(1, 10))):
        start, length = draw(st.integers(0, 60)), draw(st.integers(0, 30))
        tid = draw(st.integers(1, 2))
        make = draw(st.sampled_from([op, annotation]))
        events.append(make(draw(st.sampled_from("xyz")), start, length, tid=tid))
        if draw(st.booleans()):
            at = start + draw(st.integers(0, 40))
            events.append(call("cudaLaunchKernel", at, 2, corr=number + 1, tid=tid))
            delay, work = draw(st.integers(0, 50)), draw(st.integers(0, 20))
            events.append(kernel("gemm", at + delay, work, corr=number + 1))
    return events


@examples(60)
@given(_recordings(), st.sampled_from(["name:x", "start:y", "name:*", "auto"]))
def test_nothing_is_lost(events: list[Event], by: str) -> None:
    recorded = trace(events)
    names = {event["name"] for event in events}
    if by[-1] in "xy" and by[-1] not in names:
        return
    made = split_iterations(recorded, by)
    steps = made.steps
    edges = steps.select("host_start_ns", "host_end_ns").rows()
    assert all(before[1] == after[0] for before, after in pairwise(edges))
    assert all(start < end for start, end in edges) or len(edges) == 1
    in_step = made.slices["step"].is_not_null()
    on_host = made.tracks["is_device"].gather(made.slices["track"]).not_()
    # What begins where the recording ends lies in nothing: it is empty.
    empty = (made.slices["dur_ns"] == 0) & (made.slices["start_ns"] >= edges[-1][1])
    assert (in_step | empty | on_host.not_()).all()
    table = iterations_table(made, iterations(made, Selection())).frame
    launched = made.slices["step"].gather(made.device_work["slice"]).is_not_null().sum()
    assert (table["kernels"].sum() or 0) == launched
    starts, ends = steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()
    assert (starts[1:] >= ends[:-1]).all()
    assert (ends >= starts).all()


def test_a_key_node_that_is_called_too_often_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "MOST_CALLS", 5)
    recorded = trace([op("aten::mm", 10 * number, 5) for number in range(8)])
    with pytest.raises(SelectionError, match=r"'aten::mm' would cut 8 times.*key_nodes"):
        split_iterations(recorded, "name:aten::mm")


def test_one_instance_makes_two_intervals() -> None:
    made = split_iterations(trace([op("embed", 10, 5), op("aten::mm", 20, 30)]), "name:embed")
    assert made.steps["name"].to_list() == ["0", "1"]
    assert split_of(made).calls == 1


def test_ranges_that_overlap_without_nesting_cut_each() -> None:
    crossing = [annotation("r", 0, 30), annotation("r", 20, 30), op("aten::mm", 60, 5)]
    made = split_iterations(trace(crossing), "name:r")
    assert (made.steps["host_end_ns"] // 1000).to_list()[:-1] in ([30, 50], [30])
    made = split_iterations(
        trace([annotation("r", 0, 30), annotation("r", 20, 30, tid=2)]), "start:r"
    )
    assert (made.steps["host_start_ns"] // 1000).to_list() == [0, 20]


def test_agrees_with_a_walk_over_the_events_of_a_real_recording(samples: Path) -> None:
    """Attention layers of one step on an H100: kernels and their time by the end of each."""
    (file,) = (samples / "h100_bert_small").glob("*.json.gz")
    key_node = "aten::scaled_dot_product_attention"
    events: list[dict[str, Any]] = [
        event
        for event in json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
        if event.get("ph") == "X"
    ]
    ends = sorted(event["ts"] + event["dur"] for event in events if event["name"] == key_node)
    launches = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    counts, times = [0] * (len(ends) + 1), [0.0] * (len(ends) + 1)
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            launch = launches[event["args"]["correlation"]]
            place = bisect_left(ends, launch + 1e-4)  # a launch at an end is behind it
            counts[place] += event["cat"] == "kernel"
            times[place] += event["dur"]
    recorded = split_iterations(open_file(open_location(str(file)), cache=None), f"name:{key_node}")
    table = iterations_table(recorded, iterations(recorded, Selection())).frame
    assert table["kernels"].to_list() == counts
    assert np.allclose(table["gpu_time_mean_us"].to_numpy(), times, atol=1e-3)
