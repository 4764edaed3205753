"""The timeline of one device: its rows are named, and steps are aligned with the step trace."""

from __future__ import annotations

import json

import polars as pl
import pytest

from tests.importers.mindspore.folders import DATA, folder_of, opened, recorded
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category

HEAD = "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail,"
REDUCTION = "stream_7_parallel_0_start_point,stream_7_parallel_0_end_point,stream_7_parallel_0\n"


def test_rows_belong_to_the_device() -> None:
    trace = opened(recorded("run_1_excerpt", 1))
    assert trace.meta.format == "mindspore"
    named = trace.tracks.select("process_name", "process_label", "device").unique()
    assert set(named.rows()) == {
        ("AI Core", "NPU 1", 1),
        ("Communication", "NPU 1", 1),
        ("Recorded steps", None, None),
    }
    work = trace.device_work
    assert work.height == 114
    assert work["device"].to_list() == [1] * 114
    is_communication = kernel_kinds(trace).is_communication
    names = {trace.text(code) for code in work["name_code"].filter(pl.Series(is_communication))}
    assert names
    assert all(name is not None and name.startswith("stream_") for name in names)
    assert "missing_category" not in trace.quality.counts


@pytest.mark.parametrize("head", [b"", b" \n"])
def test_a_timeline_alone_is_that_of_the_device(head: bytes) -> None:
    """Opened by its own path, its kernels were operators of the host."""
    data = head + (DATA / "run_1_excerpt" / "timeline_display_1.json").read_bytes()
    trace = build_trace(import_trace([data], name="/run/timeline_display_1.json"))
    whole = opened(recorded("run_1_excerpt", 1))
    assert trace.meta.format == "mindspore"
    assert trace.device_work.height == 114
    assert trace.device_work["dur_ns"].sum() == whole.device_work["dur_ns"].sum()
    assert set(trace.side) == {"operator_paths"}
    renamed = build_trace(import_trace([data], name="/run/mine.json"))
    assert renamed.meta.format == "kineto"


def test_a_trace_of_pytorch_keeps_its_format_by_any_name() -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    data = json.dumps({"schemaVersion": 1, "traceEvents": [event]}).encode()
    assert import_trace([data], name="timeline_display_1.json").format == "kineto"


def test_recorded_steps_are_the_steps() -> None:
    """Ticks of the file: step 2 is from 43835277665 to 43855846023, the timeline begins at
    43806841592."""
    trace = opened(recorded("run_1_excerpt", 1))
    steps = trace.steps
    assert steps["name"].to_list() == ["1", "2", "3"]
    assert steps["start_ns"][1] == (43835277665 - 43806841592) * 10
    assert steps["end_ns"][1] == (43855846023 - 43806841592) * 10
    work = trace.slices.filter(pl.col("category") == Category.KERNEL)
    for start, step in work.select("start_ns", "step").rows():
        inside = [n for n in range(3) if steps["start_ns"][n] <= start < steps["end_ns"][n]]
        assert inside == ([] if step is None else [step])


def reduced(ts_us: float) -> str:
    return json.dumps(
        [
            {"name": "MatMul-op1", "ph": "X", "pid": 1, "tid": 7, "ts": 0.0, "dur": 2.0},
            {"name": "stream_7_parallel_0", "ph": "X", "pid": 10000, "tid": 7, "ts": ts_us,
             "dur": 1.0},
        ]
    )  # fmt: skip


def test_steps_are_aligned_by_a_reduction_that_both_have() -> None:
    trace_file = HEAD + REDUCTION + "1,1000,2000,1000,1000,1500,0,500,500,1300,1400,100\n"
    files = {"step_trace_raw_0_detail_time.csv": trace_file, "timeline_display_0.json": reduced(5)}
    steps = opened(folder_of(files)).steps
    assert steps["name"].to_list() == ["1"]
    assert steps["start_ns"].to_list() == [5000 - 3000]
    # A file with another start of the timeline contradicts it: no steps are added.
    trace = opened(folder_of({**files, "min_cycle_counter_0.txt": "5000.0"}))
    assert trace.steps["name"].to_list() == ["0"]
    assert "steps" in {each.capability for each in trace.meta.info.not_recorded}


@pytest.mark.parametrize(
    ("last_us", "expected"),
    [
        (31.0, ["1", "2", "3", "4"]),
        (29.0, ["1", "2"]),
        (20.0, ["1", "2"]),
        (9.0, ["1", "2", "3", "4"]),
    ],
)
def test_steps_whose_operators_are_cut_off_are_none(last_us: float, expected: list[str]) -> None:
    """Four steps of 10 us, with collectives in all; ``last_us``: when the last operator begins."""
    rows = "".join(
        f"{n},{1000 * n},{1000 * n + 1000},1000,{1000 * n},{1000 * n + 500},0,500,500,"
        f"{1000 * n + 300},{1000 * n + 400},100\n"
        for n in range(1, 5)
    )
    reductions = [
        {
            "name": "stream_7_parallel_0",
            "ph": "X",
            "pid": 10000,
            "tid": 7,
            "ts": 3 + 10 * n,
            "dur": 1,
        }
        for n in range(4)
    ]
    operators = [
        {"name": f"Add-op{ts}", "ph": "X", "pid": 1, "tid": 7, "ts": ts, "dur": 0.5}
        for ts in (0.5, last_us)
    ]
    files = {
        "step_trace_raw_0_detail_time.csv": HEAD + REDUCTION + rows,
        "timeline_display_0.json": json.dumps(operators + reductions),
    }
    trace = opened(folder_of(files))
    assert trace.steps["name"].to_list() == expected
    assert trace.quality.counts.get("steps_without_operators", 0) == 4 - len(expected)
    assert trace.side["recorded_step_trace"].frame.height == 4


def test_transfers_are_classified_by_their_names() -> None:
    names = ["stream_520_parallel_0", "stream_36_0_AllGather-op4542", "Default/Send-op3"]
    events = [
        {"name": name, "ph": "X", "tid": 7, "ts": 10.0 * n, "dur": 5.0, "pid": 10000}
        for n, name in enumerate(names)
    ]
    trace = opened(folder_of({"timeline_display_0.json": json.dumps(events)}))
    kinds = [trace.text(code) for code in trace.collectives["collective_code"].to_list()]
    assert kinds == ["all_reduce", "AllGather", "Send"]
    assert kernel_kinds(trace).is_communication.all()


def test_rows_of_other_kinds() -> None:
    events = [
        {"name": "process_name", "ph": "M", "pid": 2, "args": {"name": "Merged Computation Op"}},
        {"name": "GetNext", "ph": "X", "tid": "0", "ts": 1.0, "dur": 5.0, "pid": 9000},
        {"name": "Default/Add-op1", "ph": "X", "tid": "3", "ts": 1.0, "dur": 5.0, "pid": 11000},
        {"name": "computing", "ph": "X", "tid": "0", "ts": 1.0, "dur": 5.0, "pid": 2},
    ]
    trace = opened(folder_of({"ascend_timeline_display_4.json": json.dumps(events)}))
    kinds = dict(zip(trace.tracks["process_name"], trace.tracks["track"], strict=True))
    of_track = dict(trace.slices.select("track", "category").rows())
    assert of_track[kinds["AI CPU"]] == Category.KERNEL
    assert of_track[kinds["Host CPU"]] == Category.OPERATOR
    assert of_track[kinds["Merged Computation Op"]] == Category.DEVICE_OTHER
    reasons = {each.capability: each.reason for each in trace.meta.info.not_recorded}
    assert reasons["occupancy"] == reasons["blocks_per_sm"] == "an NPU has no such metric"


def test_a_timeline_of_a_gpu() -> None:
    text = recorded("profiler", 0).files["gpu_timeline_display_0.json"]()
    trace = opened(folder_of({"gpu_timeline_display_0.json": b"".join(text.unpacked())}))
    assert trace.device_work.select("device", "stream", "dur_ns").rows() == [(0, 17, 5792)]
    assert trace.slices["category"].to_list().count(Category.OPERATOR) == 1
    assert trace.meta.base_ns == 1600695893 * 10**9


def test_without_a_timeline_there_are_no_steps() -> None:
    alone = opened(recorded("profiler", 10))
    assert len(alone.side["recorded_step_trace"].frame) > 1
    assert alone.steps.is_empty()
    assert "no_steps" not in alone.quality.counts
