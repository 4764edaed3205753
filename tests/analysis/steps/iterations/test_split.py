"""Recordings cut by key nodes, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.analysis.steps.iterations.key_node import boundaries_ns
from torch_tb_profiler.analysis.steps.iterations.split import (
    UnknownKeyNodeError,
    split_iterations,
    split_of,
)
from torch_tb_profiler.analysis.steps.iterations.split_by import SplitBy, parse_split_by
from torch_tb_profiler.trace.model import Trace

US = 1000


def training(steps: int = 3) -> Trace:
    """Steps of 100 µs; in each ``embed`` from 10 to 20, ``mm`` from 30 to 60 with a kernel that
    ends 20 µs into the next."""
    events = []
    for number in range(steps):
        at = number * 100
        events += [
            step(number, at, 100),
            op("embed", at + 10, 10),
            op("mm", at + 30, 30, ext=number + 1),
            call("cudaLaunchKernel", at + 40, 5, corr=number + 1, ext=number + 1),
            kernel("gemm", at + 50, 70, corr=number + 1, ext=number + 1),
        ]
    return trace(events)


def host_edges(made: Trace) -> list[tuple[int, int]]:
    return [
        (start // US, end // US)
        for start, end in made.steps.select("host_start_ns", "host_end_ns").iter_rows()
    ]


def test_ends_of_a_key_node_cut() -> None:
    made = split_iterations(training(), "name:embed")
    assert host_edges(made) == [(0, 20), (20, 120), (120, 220), (220, 300)]
    assert made.steps["name"].to_list() == ["0", "1", "2", "3"]
    assert split_of(made).calls == 3
    # The kernel of step 0 is launched in iteration 1, and ends at 120.
    assert made.steps["device_events"].to_list() == [0, 1, 1, 1]
    assert [end // US for end in made.steps["end_ns"].to_list()] == [20, 120, 220, 320]
    names = made.slices.filter(made.slices["step"] == 1)["name_code"].unique().to_list()
    assert sorted(made.text(code) or "" for code in names) == [
        "ProfilerStep#1",
        "cudaLaunchKernel",
        "embed",
        "gemm",
        "mm",
    ]


def test_starts_cut_where_asked_for() -> None:
    assert host_edges(split_iterations(training(), "start:embed")) == [
        (0, 10),
        (10, 110),
        (110, 210),
        (210, 300),
    ]


def test_steps_are_those_of_the_recording() -> None:
    recording = training()
    assert split_iterations(recording, None) is recording
    assert split_iterations(recording, "steps") is recording
    assert split_iterations(recording, "auto") is recording


def test_a_cut_is_kept_and_shares_what_does_not_depend_on_steps() -> None:
    recording = training()
    made = split_iterations(recording, "name:embed")
    assert split_iterations(recording, "name:embed") is made
    for number in range(5):
        split_iterations(recording, f"name:{'*' * (number + 1)}embed")
    assert split_iterations(recording, "name:embed") is not made


def test_names_with_counters() -> None:
    made = split_iterations(training(), "name:ProfilerStep#*")
    # A cut at the very end of the recording makes no empty iteration.
    assert host_edges(made) == [(0, 100), (100, 200), (200, 300)]


def test_a_call_inside_a_call_of_the_same_name_does_not_cut() -> None:
    made = split_iterations(
        trace([op("a", 0, 100), op("x", 10, 40), op("x", 20, 10), op("b", 60, 30)]), "name:x"
    )
    assert host_edges(made) == [(0, 50), (50, 100)]


@pytest.mark.parametrize("text", ["", "name:", "name: ", "steps:1", "bogus", "auto:x"])
def test_malformed(text: str) -> None:
    if not text:
        assert parse_split_by(text) == SplitBy("default")
        return
    with pytest.raises(SelectionError, match="iterations_by"):
        parse_split_by(text)


def test_a_key_node_that_is_not_there() -> None:
    with pytest.raises(UnknownKeyNodeError) as caught:
        split_iterations(training(), "name:embedding")
    assert caught.value.known == [
        "ProfilerStep#0",
        "ProfilerStep#1",
        "ProfilerStep#2",
        "embed",
        "mm",
    ]


@given(st.lists(st.lists(st.integers(0, 50), max_size=6), max_size=4))
def test_cuts_of_several_processes(ends: list[list[int]]) -> None:
    times = np.array([time for process in ends for time in process], np.int64)
    sequence = np.array([n for n, process in enumerate(ends) for _ in process], np.int64)
    present = [sorted(process) for process in ends if process]
    if len({len(process) for process in present}) == 1:
        expected = sorted({max(same) for same in zip(*present, strict=True)})
    else:
        expected = sorted({time for process in present for time in process})
    assert boundaries_ns(times, sequence).tolist() == expected
