"""Folders that are whole, half copied, damaged, of other releases, or not analysed."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.ascend import (
    ADDRESS,
    OUTPUT,
    PID,
    Run,
    read_folder,
    write_database,
    write_info,
    write_text,
)
from torch_tb_profiler.importers.ascend import FORMAT, is_timeline
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import import_source
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import CAPABILITIES, JobInfo, ProcessGroup

Write = Callable[[Path, Run], Path]
BOTH = pytest.mark.parametrize("write", [write_text, write_database])


def everything(columns: EventColumns) -> str:
    """Every text that a trace may show."""
    tracks = [str(track) for track in columns.tracks]
    side = [table.frame.write_csv() + table.source for table in columns.side]
    quality = json.dumps(columns.quality.examples)
    return "\n".join([*columns.strings, *tracks, *side, quality, str(columns.info)])


@BOTH
def test_no_secret_leaves_the_files(write: Write, tmp_path: Path) -> None:
    columns = read_folder(write(tmp_path / "a_ascend_pt", Run()))
    for secret in ("planted", ADDRESS, "10.1.2.3", "TOKEN"):
        assert secret not in everything(columns)


@BOTH
def test_rank_groups_and_settings(write: Write, tmp_path: Path) -> None:
    info = read_folder(write(tmp_path / "a_ascend_pt", Run())).info
    group = ProcessGroup(name="default_group", size=2, ranks=(0, 1))
    assert info.job == JobInfo("hccl", 0, 2, 1, (group,))
    assert (info.framework, info.recorder, info.recorder_version) == (
        "PyTorch", "torch_npu.profiler", "2.5.1",
    )  # fmt: skip
    assert (info.recording.record_shapes, info.recording.profile_memory) == (True, None)


def test_without_a_rank_there_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "a_ascend_pt"
    write_text(folder, Run(), rank=None)
    job = read_folder(folder).info.job
    assert job is not None
    assert job.rank is None


def test_both_kinds_are_the_database_with_a_note(tmp_path: Path) -> None:
    write_database(tmp_path / "a_ascend_pt", Run())
    write_text(tmp_path / "b_ascend_pt", Run())
    for file in (tmp_path / "b_ascend_pt" / OUTPUT).iterdir():
        file.rename(tmp_path / "a_ascend_pt" / OUTPUT / file.name)
    columns = read_folder(tmp_path / "a_ascend_pt")
    assert columns.quality.counts == {"ascend_both": 1}


def test_missing_data_has_its_level_or_option_as_reason(tmp_path: Path) -> None:
    folder = tmp_path / "a_ascend_pt"
    write_text(folder, Run(), level="ProfilerLevel.Level0", record_shapes=False)
    reasons = {each.capability: each.reason for each in read_folder(folder).info.not_recorded}
    assert reasons["communication"] == reasons["collective_sizes"] == "needs Level1"
    assert reasons["input_shapes"] == "needs record_shapes=True"
    assert "call_stacks" not in reasons
    assert "kernels" not in reasons
    assert reasons.keys() <= set(CAPABILITIES)


@pytest.mark.parametrize(
    ("name", "package"), [("a_ascend_pt", "torch_npu"), ("b_ascend_ms", "mindspore")]
)
def test_raw_recordings_name_the_analysis_command(tmp_path: Path, name: str, package: str) -> None:
    for file in ("FRAMEWORK/torch.op_range", "PROF_000001_2/device_0/data/x.data"):
        path = tmp_path / name / file
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\0\1")
    with pytest.raises(TraceFormatError) as raised:
        read_folder(tmp_path / name)
    assert raised.value.code == "not_analysed"
    assert f"{package}.profiler.profiler.analyse" in raised.value.hint


def test_a_database_out_of_its_folder_is_the_trace_of_its_rank(tmp_path: Path) -> None:
    folder = write_database(tmp_path / "a_ascend_pt", Run())
    file = folder / OUTPUT / "ascend_pytorch_profiler_0.db"
    columns = import_source(Source(str(file), iter([file.read_bytes()]), path=str(file)))
    assert columns.format == "ascend"
    assert columns.info.job is not None
    assert columns.info.job.rank == 0
    assert len(build_trace(columns).device_work) == 4


def test_a_folder_without_events_says_so(tmp_path: Path) -> None:
    write_info(tmp_path / "a_ascend_pt")
    with pytest.raises(TraceFormatError, match=r"neither a trace_view.*, and no tables\. "):
        read_folder(tmp_path / "a_ascend_pt")
    table = tmp_path / "a_ascend_pt" / OUTPUT / "step_trace_time.csv"
    table.parent.mkdir()
    table.write_text("Device_id,Computing\n0,5\n")
    with pytest.raises(TraceFormatError, match=rf"tables \({table.name}: no column Step\)\. "):
        read_folder(tmp_path / "a_ascend_pt")


def test_raw_files_are_never_read(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "a_ascend_pt", Run())
    for raw in ("FRAMEWORK", "PROF_000001_20250101"):
        (folder / raw).mkdir()
        (folder / raw / "trace_view.json").write_text("no JSON", encoding="utf-8")
        (folder / raw / "analysis.db").write_bytes(b"no database")
    assert len(build_trace(read_folder(folder)).device_work) == 4


def test_a_half_copied_folder_is_what_is_there(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "a_ascend_pt", Run())
    output = folder / OUTPUT
    (output / "operator_memory.csv").unlink()
    (output / "step_trace_time.csv").write_text("Schritt;Rechnen\n3;4\n", encoding="utf-8")
    (output / "op_statistic.csv").write_bytes(b"\x89PNG\0\0\0")
    (output / "communication.json").write_text('{"step3": {"collective": {"a@b"', encoding="utf-8")
    (folder / "profiler_info_0.json").write_text("{", encoding="utf-8")
    columns = read_folder(folder)
    texts = " ".join(columns.quality.examples["ascend_file_unreadable"])
    assert "step_trace_time.csv: no column Step, Computing" in texts
    assert "op_statistic.csv" in texts
    assert columns.quality.counts["ascend_file_unreadable"] == 4
    assert columns.quality.examples["ascend_file_missing"] == ["communication_matrix.json"]
    assert [table.name for table in columns.side] == ["recorded_operators"]
    assert columns.info.job is not None
    assert columns.info.job.rank == 0, "by the name of the file"
    assert len(build_trace(columns).device_work) == 4


def test_a_damaged_timeline_keeps_what_can_be_read(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "a_ascend_pt", Run())
    file = folder / OUTPUT / "trace_view.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.index('"hcom_allReduce')], encoding="utf-8")
    columns = read_folder(folder)
    assert columns.quality.counts["truncated"] == 1
    assert len(build_trace(columns).device_work) == 3


@pytest.mark.parametrize("table", ["STRING_IDS", "COMPUTE_TASK_INFO", "CANN_API", "PYTORCH_API"])
def test_a_database_without_a_table_is_read(tmp_path: Path, table: str) -> None:
    folder = write_database(tmp_path / "a_ascend_pt", Run())
    with sqlite3.connect(folder / OUTPUT / "ascend_pytorch_profiler_0.db") as database:
        database.execute(f"DROP TABLE {table}")
    database.close()
    trace = build_trace(read_folder(folder))
    assert len(trace.device_work) >= 2
    assert trace.device_work["dur_ns"].min() == 20_000


def test_databases_of_others_and_empty_ones_are_refused(tmp_path: Path) -> None:
    folder = write_database(tmp_path / "a_ascend_pt", Run())
    file = folder / OUTPUT / "ascend_pytorch_profiler_0.db"
    with sqlite3.connect(file) as database:
        for name in ("PYTORCH_API", "CANN_API", "TASK", "COMMUNICATION_OP"):
            database.execute(f"DELETE FROM {name}")
    database.close()
    with pytest.raises(TraceFormatError, match="has no events"):
        read_folder(folder)
    file.unlink()
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE other (x)")
    database.close()
    with pytest.raises(TraceFormatError, match="has no tables of Ascend"):
        read_folder(folder)
    file.write_bytes(b"<html>")
    with pytest.raises(TraceFormatError):
        read_folder(folder)


@pytest.mark.parametrize("data", [b"", b"<html>not found</html>"])
def test_a_damaged_analysis_costs_its_own_tables(tmp_path: Path, data: bytes) -> None:
    folder = write_database(tmp_path / "a_ascend_pt", Run())
    (folder / OUTPUT / "analysis.db").write_bytes(data)
    columns = read_folder(folder)
    assert columns.quality.examples["ascend_file_unreadable"] == ["analysis.db"]
    assert [table.name for table in columns.side] == ["recorded_operators"]
    assert len(build_trace(columns).device_work) == 4


def test_text_files_replace_an_unreadable_database(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "a_ascend_pt", Run())
    (folder / OUTPUT / "ascend_pytorch_profiler_0.db").write_bytes(b"<html>")
    columns = read_folder(folder)
    assert "ascend_both" not in columns.quality.counts
    assert "profiler_0.db" in columns.quality.examples["ascend_file_unreadable"][0]
    assert len(build_trace(columns).device_work) == 4


@BOTH
def test_groups_named_after_a_host_are_numbered(write: Write, tmp_path: Path) -> None:
    folder = write(tmp_path / "a_ascend_pt", Run())
    if write is write_database:
        with sqlite3.connect(folder / OUTPUT / "analysis.db") as database:
            database.execute(
                "CREATE TABLE CommAnalyzerTime (hccl_op_name, group_name, elapse_time)"
            )
            database.execute("INSERT INTO CommAnalyzerTime VALUES ('hcom', ?, 2.5)", (ADDRESS,))
        database.close()
    else:
        times = {"Communication Time Info": {"Elapse Time(ms)": 2.5}}
        document = {"step3": {"collective": {f"hcom@{ADDRESS}": times}}}
        (folder / OUTPUT / "communication.json").write_text(json.dumps(document), encoding="utf-8")
    columns = read_folder(folder)
    assert ADDRESS not in everything(columns)
    (recorded,) = (each for each in columns.side if each.name == "recorded_collectives")
    ((elapse_us, group),) = recorded.frame.select("elapse_us", "group").rows()
    assert (elapse_us, group) == (2500.0, "1359081923264504684"), "the same for every rank"


def test_a_mindspore_folder_is_read_the_same_way(tmp_path: Path) -> None:
    """By the reference alone: no folder of MindSpore 2.3 and later is public."""
    folder = write_text(tmp_path / "a_ascend_ms", Run())
    file = folder / OUTPUT / "trace_view.json"
    text = file.read_text(encoding="utf-8").replace('"name": "Python"', '"name": "MindSpore"')
    text = text.replace(f'"pid": {PID}, ', f'"pid": {PID << 10 | 1 << 5}, ')
    file.write_text(text, encoding="utf-8")
    columns = read_folder(folder)
    trace = build_trace(columns)
    assert columns.info.recorder == "mindspore.Profiler"
    assert columns.info.framework == "MindSpore"
    assert trace.device_work["owner"].null_count() == 0


@pytest.mark.parametrize(
    ("name", "worker", "stamp"),
    [
        ("node1_4711_20250109074804042_ascend_pt", "node1_4711", "20250109074804042"),
        ("rank0_ascend_pt", "rank0", None),
        ("localhost.localdomain_1_2_20250109074804042_ascend_ms", "localhost.localdomain_1_2",
         "20250109074804042"),
        ("rank0_ascend", None, None),
    ],
)  # fmt: skip
def test_folders_are_detected_by_name(name: str, worker: str | None, stamp: str | None) -> None:
    parsed = FORMAT.folders[0].parse(name)
    assert (parsed and parsed.worker, parsed and parsed.stamp) == (worker, stamp)


def test_single_timelines_are_detected_by_name_or_process() -> None:
    process = b'[{"name": "process_name", "args": {"name": "Ascend Hardware"}, "ph": "M"}]'
    assert is_timeline(process, "x.json")
    assert is_timeline(b'[{"ph": "X"}]', "/a/ASCEND_PROFILER_OUTPUT/trace_view.json")
    assert is_timeline(b'[{"ph": "X"}]', "msprof_0_2_1.json")
    assert not is_timeline(b'[{"ph": "X"}]', "trace.json")
    assert not is_timeline(b'{"traceEvents": []}', "trace_view.json")
    assert re.fullmatch(r"[a-z]+", FORMAT.name)


def test_a_timeline_without_slices_has_its_memory(tmp_path: Path) -> None:
    folder = write_text(tmp_path / "a_ascend_pt", Run())
    declared = '[{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "CANN"}}]'
    (folder / OUTPUT / "trace_view.json").write_text(declared, encoding="utf-8")
    trace = build_trace(read_folder(folder))
    assert trace.memory["bytes"].to_list() == [4096 << 10, -4096 << 10, 524_800]


@BOTH
def test_python_frames_are_optional(write: Write, tmp_path: Path) -> None:
    folder = write(tmp_path / "a_ascend_pt", Run())
    with_frames, without = (read_folder(folder, python_frames=each) for each in (True, False))
    assert len(with_frames.tables["python"]["slice"]) == 1
    assert len(without.tables["python"]["slice"]) == 0
    assert without.quality.counts["python_frames_left_out"] == 1
    linked = [
        build_trace(each).device_work["owner"].null_count() for each in (with_frames, without)
    ]
    assert linked == [0, 0]
