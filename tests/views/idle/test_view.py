"""The view of idle time: its tables add up, say what stands around gaps, and follow a selection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.consistency.recordings import FILES, opened
from tests.helpers.examples import examples
from tests.helpers.traces import Event, call, frame, kernel, op, step, trace
from torch_tb_profiler.analysis.idle.causes import GPU_CAUSES
from torch_tb_profiler.analysis.idle.long_gaps import MAX_GAPS
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.idle import idle_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.idle.view import SPEC, idle
from torch_tb_profiler.views.schema import View


def two_steps() -> Trace:
    """Two steps of 1000 µs; GPU 0 works for 200 µs in each, GPU 1 for 100 µs in the second."""
    return trace(
        [
            step(1, 0, 1000),
            op("aten::mm", 0, 400),
            call("cudaLaunchKernel", 300, 10, corr=1),
            kernel("gemm", 320, 200, corr=1),
            step(2, 1000, 1000),
            frame("train.py(7): preprocess", 1000, 600, python_id=1),
            call("cudaLaunchKernel", 1600, 10, corr=2),
            kernel("add", 1700, 200, corr=2),
            call("cudaLaunchKernel", 1650, 10, corr=3),
            kernel("scale", 1650, 5, corr=3, device=1, stream=9),
        ]
    )


def facts(view: View) -> dict[tuple[str, str | None], object]:
    return {(fact.key, fact.scope): fact.value for fact in view.facts}


def test_every_cause_has_its_words() -> None:
    assert [cause.key for cause in idle_file().causes] == list(GPU_CAUSES)


def test_idle_and_busy_time_of_the_steps() -> None:
    told = facts(idle(two_steps(), Selection()))
    assert told["busy_us", "GPU 0"] == 400
    assert told["idle_us", "GPU 0"] == 1600
    assert told["idle_pct", "GPU 0"] == 80
    assert told["idle_us", "GPU 1"] == 1995
    told = facts(idle(two_steps(), Selection(steps="1")))
    assert (told["busy_us", "GPU 0"], told["idle_us", "GPU 0"]) == (200, 800)
    told = facts(idle(two_steps(), Selection(start_ns=400_000, end_ns=600_000)))
    assert (told["busy_us", "GPU 0"], told["idle_us", "GPU 0"]) == (120, 80)


def test_gaps_say_what_stands_around_them() -> None:
    rows = idle(two_steps(), Selection()).tables["gaps"].frame.filter(gpu=0)
    by_start = {row["start_us"]: row for row in rows.iter_rows(named=True)}
    assert set(by_start) == {0, 520, 1000, 1900}
    first, second, third = by_start[0], by_start[520], by_start[1000]
    assert (first["duration_us"], first["step"], first["cause"]) == (320, "1", "launch_bound")
    assert first["cause_pct"] == pytest.approx(100 * 310 / 320)
    assert (first["before"], first["after"]) == (None, "gemm")
    assert first["host"] == "aten::mm 100 %"
    assert first["host_call"] == "cudaLaunchKernel"
    # The edge of the step cuts the gap between the kernels in two.
    assert (second["duration_us"], second["before"], second["after"]) == (480, "gemm", None)
    assert (third["duration_us"], third["before"], third["after"]) == (700, None, "add")
    assert third["host"] == "cudaLaunchKernel 3 %"  # two calls of 10 µs


def test_a_call_inside_an_operator_is_named_where_it_takes_half_of_the_gap() -> None:
    events = [
        kernel("first", 0, 100),
        op("aten::copy_", 100, 900),
        call("cudaMemcpyAsync", 150, 800),
        call("cudaLaunchKernel", 990, 5, corr=1),
        kernel("second", 1000, 10, corr=1),
        op("aten::mm", 1010, 490),
        call("cudaMalloc", 1020, 200),
        call("cudaLaunchKernel", 1490, 5, corr=2),
        kernel("third", 1500, 10, corr=2),
    ]
    rows = idle(trace(events), Selection()).tables["gaps"].frame
    assert dict(rows.select("after", "host").iter_rows()) == {
        "second": "aten::copy_ 100 %, in cudaMemcpyAsync 89 %",
        "third": "aten::mm 100 %",
    }


def test_a_function_is_told_where_no_operator_ran() -> None:
    gaps = idle(two_steps(), Selection(start_ns=1_100_000, end_ns=1_500_000)).tables["gaps"].frame
    assert set(gaps["host"]) == {"train.py(7): preprocess"}


def test_streams_and_launches() -> None:
    tables = idle(two_steps(), Selection()).tables
    streams = {row["stream"]: row for row in tables["streams"].frame.iter_rows(named=True)}
    assert (streams[7]["kernels"], streams[7]["busy_us"], streams[7]["busy_pct"]) == (2, 400, 20)
    # One kernel waits from 300 to 320 and one from 1600 to 1700.
    assert streams[7]["queue_mean"] == pytest.approx(120 / 2000)
    assert (streams[7]["queue_max"], streams[9]["kernels"]) == (1, 1)
    (launches,) = tables["launch_delays"].frame.iter_rows(named=True)
    assert (launches["calls"], launches["short"], launches["short_us"]) == (3, 1, 5)
    assert (launches["delay_p50_us"], launches["longest_delay_us"]) == (10, 90)
    assert launches["delay_p90_us"] == pytest.approx(np.percentile([10, 90], 80))  # upper half of 3


def test_collections_that_nobody_recorded_are_null() -> None:
    causes = idle(two_steps(), Selection()).tables["causes"]
    row = causes.frame.filter(gpu=0, cause="garbage_collection").row(0, named=True)
    assert (row["total_us"], row["gaps"]) == (None, None)
    assert "Garbage" in causes.null_reasons["total_us"]


def test_without_device_work_it_says_why() -> None:
    reason = SPEC.missing(trace([step(1, 0, 100), op("aten::mm", 0, 50)]))
    assert reason == "The recording holds no device work and no device API calls."


def test_without_a_host_a_note_says_what_cannot_be_told() -> None:
    view = idle(trace([kernel("a", 0, 10), kernel("b", 50, 10)]), Selection())
    assert "idle_without_host" in {note.code for note in view.notes}
    assert view.tables["streams"].null_reasons["queue_mean"]
    assert view.tables["launch_delays"].frame.is_empty()


@st.composite
def many(draw: st.DrawFn) -> list[Event]:
    events: list[Event] = [step(number, 300 * number, 300) for number in range(3)]
    for number in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, 850))
        begun = at + draw(st.integers(0, 200))
        gpu, stream = draw(st.integers(0, 1)), draw(st.integers(7, 8))
        length = draw(st.integers(1, 150))
        events.append(call("cudaLaunchKernel", at, draw(st.integers(0, 30)), corr=number + 1))
        events.append(kernel("k", begun, length, corr=number + 1, device=gpu, stream=stream))
    return events


@examples(20)
@given(many(), st.sampled_from([None, "1", "0:1"]))
def test_everything_adds_up(events: list[Event], steps: str | None) -> None:
    view = idle(trace(events), Selection(steps=steps))
    told = facts(view)
    causes, gaps = view.tables["causes"].frame, view.tables["gaps"].frame
    for gpu in causes["gpu"].unique().to_list():
        whole = told["idle_us", f"GPU {gpu}"]
        assert causes.filter(gpu=gpu)["total_us"].sum() == pytest.approx(whole)
        assert gaps.filter(gpu=gpu)["duration_us"].sum() == pytest.approx(whole)


@examples(20)
@given(many(), st.sampled_from([None, "1", "0,2"]))
def test_queues_of_streams(events: list[Event], steps: str | None) -> None:
    view = idle(trace(events), Selection(steps=steps))
    calls = {e["args"]["correlation"]: e["ts"] for e in events if e["cat"] == "cuda_runtime"}
    built = trace(events)
    chosen = np.zeros(4000, np.bool_)
    columns = ("name", "start_ns", "end_ns", "kept")
    for name, start, end, kept in built.steps.select(columns).iter_rows():
        if kept if steps is None else name in steps.split(","):
            chosen[start // 1000 : end // 1000] = True
    for row in view.tables["streams"].frame.iter_rows(named=True):
        queue = np.zeros(4000)
        for event in events:
            if event["cat"] == "kernel" and (event["pid"], event["tid"]) == (
                row["gpu"],
                row["stream"],
            ):
                queue[calls[event["args"]["correlation"]] : event["ts"]] += 1
        assert row["queue_mean"] == pytest.approx(queue[chosen].mean())
        assert row["queue_max"] == queue[chosen].max()


def test_of_many_gaps_the_longest_are_listed() -> None:
    (name,) = [name for name in FILES if "worker0.1623143089861" in name]
    view = idle(opened(name), Selection())
    gaps = view.tables["gaps"].frame
    assert gaps.height == MAX_GAPS
    assert gaps["duration_us"].is_sorted(descending=True)
    assert all(len(line.x) <= 1000 for series in view.series.values() for line in series.lines)
