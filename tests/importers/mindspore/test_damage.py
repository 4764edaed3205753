"""Incomplete folders, other headers, truncated files: the rest is read, issues are counted."""

from __future__ import annotations

import pytest

from tests.importers.mindspore.folders import folder_of, opened, recorded
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.mindspore.reader import read
from torch_tb_profiler.importers.protocol import Reading

STEPS = "step_trace_raw_0_detail_time.csv"
HEAD = "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n"


def test_without_a_timeline_there_are_no_events() -> None:
    trace = opened(recorded("minddata_pipelines", 0))
    assert trace.slices.is_empty()
    assert trace.steps.is_empty()
    assert set(trace.side) == {"pipeline", "queue_sizes"}
    reasons = {each.capability: each.reason for each in trace.meta.info.not_recorded}
    assert "no timeline" in reasons["kernels"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"readme.txt": "x"}, "no file has a name"),
        ({STEPS: ""}, f"none of the files could be read .{STEPS}: it is empty"),
        ({STEPS: "a,b\n1,2\n"}, f"none of the files could be read .{STEPS}: its header has no"),
        ({"timeline_display_0.json": "[]", "flops_summary_0.json": "{"}, "none of the files"),
    ],
)
def test_a_folder_without_known_files_is_not_a_trace(files: dict[str, str], problem: str) -> None:
    with pytest.raises(TraceFormatError, match=problem) as caught:
        read(folder_of(files), Reading())
    assert caught.value.code == "not_a_trace"
    assert caught.value.hint


def test_a_damaged_file_costs_its_own_table_alone() -> None:
    folder = recorded("profiler", 0)
    broken = {
        "flops_summary_0.json": b"[1, 2",
        "flops_0.txt": b"op,time\n1,2\n",
        "minddata_cpu_utilization_0.json": b'{"time_stamp": "no"}',
        "device_queue_profiling_0.txt": b"what\nis this\n",
        "pipeline_profiling_0.json": b"\xff\xfe\x00",
        "ascend_timeline_display_0.json": b"not json",
    }
    files = {name: b"".join(source().unpacked()) for name, source in folder.files.items()}
    trace = opened(folder_of(files | broken))
    assert set(trace.side) == {
        "recorded_step_trace", "recorded_mean_step", "recorded_flops", "pipeline", "queue_sizes",
        "recorded_shapes",
    }  # fmt: skip
    assert trace.side["recorded_flops"].source == "flops_scope_0.json"
    assert trace.quality.counts["side_file_unreadable"] == 5, "one of them is not read at all"
    assert trace.quality.counts["side_row_left_out"] == 2


def test_truncated_rows_and_invalid_numbers_are_counted() -> None:
    text = (
        HEAD
        + "1,100,200,100,110,150,10,40,50\n"
        + "2,200,300,NaN,210,,inf,40,1e400\n"
        + "3,900,300,100,1,1,1,1,1\n"
        + "4,x,300,100,1,1,1,1,1\n"
        + "5,400,50"
    )
    trace = opened(folder_of({STEPS: text}))
    first, second = trace.side["recorded_step_trace"].frame.rows(named=True)
    assert first["total_us"] == 1
    assert [second[key] for key in ("total_us", "interval_us", "tail_us")] == [None, None, None]
    assert trace.quality.counts["side_row_left_out"] == 3


def test_a_mean_of_other_steps_is_counted() -> None:
    rows = "".join(f"{n},{n * 100},{n * 100 + 90},90,1,1,1,1,1\n" for n in (1, 2, 3))
    assert (
        "recorded_mean_differs"
        in opened(folder_of({STEPS: HEAD + rows + "0,1,1,70,1,1,1,1,1\n"})).quality.counts
    )
    whole = opened(folder_of({STEPS: HEAD + rows + "-,1,1,90,1,1,1,1,1\n"}))
    assert "recorded_mean_differs" not in whole.quality.counts
    assert whole.side["recorded_step_trace"].frame.height == 3


def test_files_of_one_device_are_one_trace() -> None:
    row = HEAD + "1,100,200,100,110,150,10,40,50\n"
    files = {
        "step_trace_raw_10_detail_time.csv": row,
        "step_trace_raw_1_detail_time.csv": row,
        "again/step_trace_raw_1_detail_time.csv": row,
        "step_trace_raw_detail_time.csv": row,
        "minddata_aicpu_x.txt": "GetNext 1 2 3",
    }
    trace = opened(folder_of(files))
    assert trace.side["recorded_step_trace"].source == "step_trace_raw_1_detail_time.csv"
    assert trace.quality.counts["other_device_files"] == 2


def test_implausible_numbers_and_deep_json() -> None:
    deep = "[" * 100_000
    trace = opened(
        folder_of(
            {
                "flops_scope_0.json": deep,
                "flops_summary_0.json": '{"FLOPs": 1e999999, "FLOPS": ' + "9" * 5000 + "}",
                "minddata_pipeline_raw_0.csv": f"op_id,op_type,parent_id\n0,Batch,{10**20}\n",
                "memory_usage_0.pb": b"\x00\x01",
            }
        )
    )
    model = trace.side["recorded_flops"].frame.row(0, named=True)
    assert (model["flops"], model["flops_per_s"]) == (None, None)
    assert trace.side["pipeline"].frame["parent"].to_list() == [None]
    assert trace.quality.counts["side_file_unreadable"] == 2


def test_progress_counts_the_bytes_of_all_files() -> None:
    progress: list[int] = []
    read(recorded("run_1_excerpt", 1), Reading(progress=progress.append))
    assert progress == sorted(progress)
    assert progress[-1] > 20_000


SECRET = "AKIA-planted-/home/somebody"


def test_unknown_columns_are_not_read() -> None:
    """Secrets where a table has no column: other keys, other columns, damaged rows, arguments."""
    folder = recorded("profiler", 0)
    files = {name: b"".join(source().unpacked()) for name, source in folder.files.items()}
    for name, text in files.items():
        if name.endswith(".csv"):
            head, _, rest = text.partition(b"\n")
            rows = b"".join(row + f",{SECRET}\n".encode() for row in rest.splitlines() if row)
            files[name] = head + b",environment\n" + rows + f"{SECRET},1\n".encode()
        elif text.startswith(b"{"):
            files[name] = b'{"environment": {"HOME": "%s"},' % SECRET.encode() + text.lstrip()[1:]
        elif name.endswith("display_0.json"):
            files[name] = text.replace(b'"args": {', b'"args": {"env": "%s", ' % SECRET.encode())
        else:
            files[name] = text.rstrip(b"\n") + f"\n{SECRET} {SECRET}\n".encode()
    trace = opened(folder_of(files))
    assert len(trace.side) == 8
    stored = [trace.meta, trace.quality, trace.tracks.rows(), *trace.strings]
    stored += [table.frame.rows() for table in trace.side.values()]
    assert "planted" not in repr(stored)
    assert trace.quality.counts["side_row_left_out"] >= 3
    assert "step_trace_raw_0_detail_time.csv" in trace.quality.examples["side_row_left_out"]
