"""Stages, queues and waits, of MindData's files and of a timeline."""

from __future__ import annotations

import pytest

from tests.helpers.traces import call, kernel, op, slice_event, step, trace
from tests.importers.mindspore.folders import folder_of, opened, recorded
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.data.view import SPEC, data
from torch_tb_profiler.views.schema import View

NEXT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def loads(ts: float, dur: float) -> dict[str, object]:
    return slice_event("user_annotation", NEXT, ts, dur, pid="1000", tid=1)


def facts(view: View) -> dict[str, object]:
    return {fact.key: fact.value for fact in view.facts}


def queue_file(sizes: list[int], capacity: int = 4) -> str:
    lines = [f"1 {capacity} {n} {size} {n}" for n, size in enumerate(sizes, 1)]
    times = [f"0 {sub} {n} {sub + n} {n}" for n in range(1, len(sizes) + 1) for sub in (0, 1, 2)]
    return "\n".join([*lines, *times])


def test_waits_of_a_timeline() -> None:
    """Step 1 waits 40 of 100 µs in two calls, one of them inside another; step 2 waits 2 of 100."""
    recorded_trace = trace(
        [
            step(1, 0, 100), loads(0, 30), loads(5, 10), loads(50, 10), op("aten::mm", 70, 20),
            step(2, 100, 100), loads(100, 2), op("aten::mm", 110, 80),
        ]
    )  # fmt: skip
    view = data(recorded_trace, Selection())
    stages = {row["stage"]: row for row in view.tables["stages"].frame.rows(named=True)}
    wait = stages["wait"]
    assert (wait["calls"], wait["time_total_us"], wait["time_mean_us"]) == (3, 42, 14)
    assert (wait["time_min_us"], wait["time_max_us"], wait["source"]) == (2, 30, "timeline")
    assert list(stages) == ["wait"]  # no rows of dashes
    assert "left out" in view.tables["stages"].spec.help
    assert view.tables["waits"].frame.select("step", "wait_us", "step_us", "wait_pct").rows() == [
        ("1", 40, 100, 40)
    ]
    assert facts(view) == {"steps_waited": 1, "wait_pct": 21}
    assert view.series["wait_per_step"].lines[0].y == [40, 2]
    second = data(recorded_trace, Selection(steps="2"))
    assert second.tables["waits"].frame.is_empty()
    assert second.tables["stages"].frame.row(-1, named=True)["calls"] == 1


def test_loading_for_the_next_step_is_no_wait_of_this_one() -> None:
    """The device works to 130; from 101 on the host loads for step 2."""
    recorded_trace = trace(
        [
            step(1, 0, 99), loads(0, 20),
            call("cudaLaunchKernel", 30, 5, corr=1), kernel("gemm", 40, 90, corr=1),
            step(2, 100, 60), loads(101, 40),
            call("cudaLaunchKernel", 145, 5, corr=2), kernel("gemm", 150, 50, corr=2),
        ]
    )  # fmt: skip
    waits = data(recorded_trace, Selection()).tables["waits"].frame
    assert waits.select("step", "wait_us", "step_us").rows() == [("1", 20, 99), ("2", 40, 60)]
    cut = data(recorded_trace, Selection(start_ns=10_000, end_ns=135_000)).tables["waits"].frame
    assert cut.select("step", "wait_us", "step_us").rows() == [("1", 10, 89), ("2", 34, 35)]


def test_the_queue_before_the_model_tells_who_waited() -> None:
    device = "GetNext_dequeue_wait 10 20 3\nGetNext_dequeue_wait 30 80 0\n"
    files = {
        "device_queue_profiling_0.txt": queue_file([2, 3, 4]),
        "minddata_aicpu_0.txt": device,
        "minddata_pipeline_raw_0.csv": "op_id,op_type,num_workers,parent_id\n"
        "0,Batch,2,\n1,Map,3,0\n2,TFReader,4,1\n3,Repeat,9,2\n",
    }
    view = data(opened(folder_of(files)), Selection())
    stages = {row["stage"]: row for row in view.tables["stages"].frame.rows(named=True)}
    assert {name: stages[name]["workers"] for name in ("fetch", "transform", "collate")} == {
        "fetch": 4, "transform": 3, "collate": 2,
    }  # fmt: skip
    assert stages["pipeline"]["time_total_us"] == (1 + 2 + 3) * 1000
    assert stages["transfer"]["time_mean_us"] == 3000
    assert stages["wait"]["time_max_us"] == 50
    assert view.tables["waits"].frame.select("step", "wait_us", "queue").rows() == [
        ("2", 50, "device")
    ]
    assert facts(view)["device_queue_empty_pct"] == 50
    assert facts(view)["host_queue_empty_pct"] == 0
    assert "data_transfer_slow" in {note.code for note in view.notes}
    host, on_device, waited = view.series["queue_sizes"].lines
    assert (waited.name, waited.x, waited.y) == ("Waited for", [1, 2], [None, 0])
    assert (host.y, on_device.y) == ([2, 3, 4], [3, 0])
    queue = view.tables["queue"].frame.row(0, named=True)
    assert (queue["step"], queue["queue"], queue["fill_pct"]) == (1, "device", None)
    assert view.tables["queue"].frame.row(1, named=True)["fill_pct"] == 50


def test_a_queue_of_one_batch_is_a_point() -> None:
    files = {"device_queue_profiling_0.txt": queue_file([3])}
    (line,) = data(opened(folder_of(files)), Selection()).series["queue_sizes"].lines
    assert (line.x, line.y) == ([1], [3])


@pytest.mark.parametrize(("sizes", "slow"), [([0, 0, 1, 1], True), ([0, 1, 1, 1], False)])
def test_a_queue_that_is_often_empty_is_processing(sizes: list[int], slow: bool) -> None:
    files = {"device_queue_profiling_0.txt": queue_file(sizes)}
    codes = {note.code for note in data(opened(folder_of(files)), Selection()).notes}
    assert ("data_processing_slow" in codes) is slow


def test_a_bottleneck_that_nobody_feels_is_no_warning() -> None:
    pipeline = recorded("minddata_pipelines", 0).files["minddata_pipeline_raw_0.csv"]()
    text = b"".join(pipeline.unpacked())
    for sizes, severity in (([4, 4], "info"), ([0, 0], "warning")):
        folder = folder_of(
            {"minddata_pipeline_raw_0.csv": text, "device_queue_profiling_0.txt": queue_file(sizes)}
        )
        notes = data(opened(folder), Selection()).notes
        assert [n.severity for n in notes if n.code == "data_bottleneck"] == [severity]


def test_recorded_files_and_a_program_that_takes_itself() -> None:
    view = data(opened(recorded("profiler", 0)), Selection())
    assert facts(view) == {"steps_waited": 1, "host_queue_empty_pct": 100}
    waited = view.tables["waits"].frame.row(0, named=True)
    assert waited == {
        "step": "1", "wait_us": None, "step_us": 40030.47, "wait_pct": None, "queue": "host",
        "source": "device_queue_profiling_0.txt",
    }  # fmt: skip
    assert view.series["queue_fill"].lines[0].y == [10 / 64 * 100, 20 / 64 * 100, 30 / 64 * 100]
    lines = "0 0 1 7 1\n1 8 1 0 1\n0 0 2 1 2\n1 8 2 5 2\n"
    own = data(opened(folder_of({"dataset_iterator_profiling_0.txt": lines})), Selection())
    stages = {row["stage"]: row for row in own.tables["stages"].frame.rows(named=True)}
    assert stages["wait"]["time_total_us"] == 8000
    assert own.tables["waits"].frame["wait_us"].to_list() == [7000]


def test_a_selection_narrows_what_has_its_steps() -> None:
    timed = opened(recorded("run_1_excerpt", 1))
    files = {name: b"".join(source().unpacked()) for name, source in
             recorded("run_1_excerpt", 1).files.items()}  # fmt: skip
    files["device_queue_profiling_1.txt"] = queue_file([1, 0, 3]).encode()
    both = opened(folder_of(files))
    assert timed.steps["name"].to_list() == both.steps["name"].to_list() == ["1", "2", "3"]
    chosen = data(both, Selection(steps="2"))
    assert chosen.tables["queue"].frame["size"].to_list() == [0]
    assert chosen.tables["waits"].frame["step_us"].to_list() == [205683.58]
    with pytest.raises(SelectionError):
        data(both, Selection(steps="x"))
    codes = {note.code for note in data(both, Selection(start_ns=0)).notes}
    assert "recorded_not_narrowed" in codes


def missing(recording: Trace) -> str | None:
    return SPEC.missing(recording)


def test_what_tells_nothing_of_data_says_so() -> None:
    told = missing(trace([kernel("gemm", 0, 10)]))
    assert told is not None
    assert "no call of a data loader" in told
    assert missing(trace([loads(0, 3)])) is None
    assert missing(opened(recorded("minddata_pipelines", 0))) is None
    bare = data(opened(recorded("minddata_pipelines", 0)), Selection())
    assert facts(bare)["steps_waited"] is None
