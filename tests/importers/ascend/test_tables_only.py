"""Folders of torch_npu with tables only: no timeline, no database."""

from __future__ import annotations

import csv
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.helpers.ascend import OUTPUT, Run, read_folder, write_database, write_text
from tests.helpers.discovered import looked_into
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns

TIMELINE = "trace_view.json"


def tables_of(folder: Path) -> Path:
    """The synthetic run without its timeline."""
    write_text(folder, Run())
    (folder / OUTPUT / TIMELINE).unlink()
    return folder


@pytest.fixture(scope="module", params=[0, 1])
def copied(
    request: pytest.FixtureRequest, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A recorded folder without its timeline."""
    name = f"rank{request.param}_ascend_pt"
    folder = tmp_path_factory.mktemp("npu") / name
    shutil.copytree(corpus / "ascend_torch_npu" / "text" / "level1" / name, folder)
    (folder / OUTPUT / TIMELINE).unlink()
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v.strip() for k, v in row.items()} for row in csv.DictReader(file)]


def test_the_kernels_are_those_of_the_file(copied: Path) -> None:
    rank = int(copied.name[4])
    with open_trace(str(copied)) as opened:
        trace = opened.trace
        work = trace.device_work
        names = [trace.text(code) for code in work["name_code"]]
        stored = rows_of(copied / OUTPUT / "kernel_details.csv")
        assert Counter(names) == Counter(row["Name"] for row in stored)
        assert int(work["dur_ns"].sum()) == round(
            sum(float(row["Duration(us)"]) for row in stored) * 1000
        )
        assert work["device"].unique().to_list() == [rank]
        streams = {row["Stream ID"] for row in stored} - {"N/A"}
        known = work["stream"].drop_nulls()
        assert {str(stream) for stream in known.unique()} == streams


def test_the_step_is_ascends_own(copied: Path) -> None:
    """The recording has no steps, but its only one is the time from first to last kernel."""
    (stored,) = rows_of(copied / OUTPUT / "step_trace_time.csv")
    with open_trace(str(copied)) as opened:
        row = opened.view("distributed").tables["overlap"].row(0, named=True)
        assert opened.trace.side["recorded_steps"].frame["step"].to_list() == ["50"]
    for computed, title in (
        (row["computation_us"] + row["overlap_us"], "Computing"),
        (row["overlap_us"], "Overlapped"),
        (row["communication_us"], "Communication(Not Overlapped)"),
        (row["other_us"], "Free"),
    ):
        assert computed == pytest.approx(float(stored[title]), abs=0.2), title


def test_all_tables_are_those_of_the_whole_folder(copied: Path, corpus: Path) -> None:
    with_timeline = corpus / "ascend_torch_npu" / "text" / "level1" / copied.name
    with open_trace(str(copied)) as few, open_trace(str(with_timeline)) as all_of_it:
        for name, table in all_of_it.trace.side.items():
            frame = few.trace.side[name].frame
            assert frame.head(table.frame.height).equals(table.frame), name
            assert frame.height == table.frame.height or name == "recorded_operators"
        totals = [
            each.trace.memory.select("bytes", "total_allocated_bytes", "device")
            for each in (few, all_of_it)
        ]
        assert totals[0].equals(totals[1])
        groups = [each.trace.collectives["group_code"].null_count() for each in (few, all_of_it)]
        assert groups == [0, 0]


def test_operators_and_calls_are_summed_by_name(copied: Path) -> None:
    expected: dict[tuple[str, str], float] = defaultdict(float)
    calls: Counter[tuple[str, str]] = Counter()
    for row in rows_of(copied / OUTPUT / "operator_details.csv"):
        for unit, title in (
            ("host, operators", "Host Self Duration(us)"),
            ("device, by operator", "Device Self Duration(us)"),
        ):
            expected[unit, row["Name"]] += float(row[title])
            calls[unit, row["Name"]] += 1
    for row in rows_of(copied / OUTPUT / "api_statistic.csv"):
        expected["host, " + row["Level"], row["API Name"]] = float(row["Time(us)"])
        calls["host, " + row["Level"], row["API Name"]] = int(row["Count"])
    with open_trace(str(copied)) as opened:
        side = opened.trace.side["recorded_operators"]
    own = side.frame.filter(pl.col("unit").str.contains("^(host|device), "))
    stored = {(unit, name): us for (unit, name), us in expected.items() if us > 0}
    assert side.source == "op_statistic.csv, operator_details.csv, api_statistic.csv"
    assert dict(zip(own.select("unit", "type").rows(), own["total_us"], strict=True)) == (
        pytest.approx(stored)
    )
    for unit, name, count in own.select("unit", "type", "calls").iter_rows():
        assert count == calls[unit, name]
    shares = own.group_by("unit").agg(pl.col("pct").sum())["pct"]
    assert shares.to_list() == pytest.approx([100] * len(shares))


def test_times_of_copies_are_unknown_not_zero(copied: Path) -> None:
    with open_trace(str(copied)) as opened:
        table = opened.view("overview").tables["average_step"]
    times = dict(table.select("category", "duration_us").rows())
    assert (times["Memcpy"], times["Memset"], times["Runtime"]) == (None, None, None)
    assert times["Kernel"] > 0
    assert times["Communication"] > 0


def test_what_only_the_timeline_has_says_so(tmp_path: Path) -> None:
    columns = read_folder(tables_of(tmp_path / "a_ascend_pt"))
    reasons = {each.capability: each.reason for each in columns.info.not_recorded}
    for capability in ("operators", "steps", "launches"):
        assert "no timeline (trace_view.json)" in reasons[capability]
    assert "kernels" not in reasons
    assert (columns.info.framework, columns.info.recorder) == ("PyTorch", "torch_npu.profiler")
    assert columns.info.job is not None


@pytest.mark.parametrize(
    "name",
    [
        "step_trace_time.csv",
        "operator_memory.csv",
        "memory_record.csv",
        "npu_module_mem.csv",
        "op_statistic.csv",
        "operator_details.csv",
        "api_statistic.csv",
        "communication.json",
        "communication_matrix.json",
    ],
)
def test_any_table_is_enough(corpus: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a_ascend_pt"
    (folder / OUTPUT).mkdir(parents=True)
    stored = corpus / "ascend_torch_npu" / "text" / "level1" / "rank1_ascend_pt" / OUTPUT / name
    shutil.copy(stored, folder / OUTPUT)
    columns = read_folder(folder)
    reasons = {each.capability for each in columns.info.not_recorded}
    assert {"kernels", "communication"} <= reasons
    trace = build_trace(columns)
    assert trace.device_work.is_empty()
    assert trace.side or trace.memory.height or trace.samples.height


def test_times_count_from_the_first_of_any_table(tmp_path: Path) -> None:
    columns = read_folder(tables_of(tmp_path / "a_ascend_pt"))
    assert columns.base_ns % 10**9 == 0
    times = np.concatenate(
        [columns.tables["slices"]["start_ns"], columns.tables["memory"]["time_ns"]]
    )
    assert 0 <= times.min() < 10**9


def test_damaged_rows_cost_themselves_only(tmp_path: Path) -> None:
    folder = tables_of(tmp_path / "a_ascend_pt")
    file = folder / OUTPUT / "kernel_details.csv"
    whole = read_folder(folder)
    text = file.read_text()
    titles = text.splitlines()[0].split(",")
    row = {"Name": "odd", "Start Time(us)": "?", "Duration(us)": "1"}
    file.write_text(text + ",".join(row.get(title, "") for title in titles) + "\n")
    damaged = read_folder(folder)
    assert damaged.quality.counts["side_row_left_out"] == 1
    assert kernels(damaged) == kernels(whole)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("memory_record.csv", "Timestamp(us)"),
        ("npu_module_mem.csv", "Total Reserved(MB)"),
        ("operator_memory.csv", "Size(KB)"),
        ("operator_details.csv", "Host Self Duration(us)"),
        ("api_statistic.csv", "Time(us)"),
    ],
)
@pytest.mark.parametrize("cell", ["", "abc", "nan", "1e999"])
def test_damaged_cells_are_counted_and_in_no_sum(
    copied: Path, tmp_path: Path, name: str, title: str, cell: str
) -> None:
    rows = rows_of(copied / OUTPUT / name)
    sums = []
    for damaged in (rows[1:], [rows[0] | {title: cell}, *rows[1:]]):
        folder = tmp_path / f"{len(damaged)}_ascend_pt" / OUTPUT
        folder.mkdir(parents=True)
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(damaged)
        columns = read_folder(folder.parent)
        sums.append(
            [
                *(side.frame.to_dicts() for side in columns.side),
                columns.tables["samples"]["value"].tolist(),
                columns.tables["memory"]["bytes"].tolist(),
            ]
        )
        assert columns.quality.counts.get("side_row_left_out", 0) == len(damaged) - len(rows) + 1
    assert sums[0] == sums[1]


def test_a_view_without_events_says_what_its_tables_lost(copied: Path, tmp_path: Path) -> None:
    rows = rows_of(copied / OUTPUT / "memory_record.csv")
    folder = tmp_path / "x_ascend_pt" / OUTPUT
    folder.mkdir(parents=True)
    with (folder / "memory_record.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([rows[0] | {"Timestamp(us)": "?"}, *rows[1:]])
    (folder / "op_statistic.csv").write_text("Core Type\nAI_CORE\n")
    with open_trace(str(folder.parent)) as opened:
        codes = {note.code for note in opened.view("resources").notes}
    assert {"side_row_left_out", "ascend_file_unreadable"} <= codes


def kernels(columns: EventColumns) -> list[tuple[str, int, int]]:
    """Name, start and duration of each kernel."""
    slices = columns.tables["slices"]
    return [
        (columns.strings[code], start, dur)
        for code, start, dur in zip(
            slices["name_code"].tolist(),
            slices["start_ns"].tolist(),
            slices["dur_ns"].tolist(),
            strict=True,
        )
    ]


def test_tables_replace_a_damaged_database(tmp_path: Path) -> None:
    folder = tables_of(tmp_path / "a_ascend_pt")
    write_database(tmp_path / "b_ascend_pt", Run())
    for file in (tmp_path / "b_ascend_pt" / OUTPUT).glob("*profiler*.db"):
        (folder / OUTPUT / file.name).write_bytes(file.read_bytes()[:100])
    columns = read_folder(folder)
    assert columns.quality.counts["ascend_file_unreadable"] >= 1
    assert len(columns.tables["slices"]["start_ns"])


@pytest.mark.parametrize("text", ["", "<html>", '{"no": "events"}', "\0" * 4096])
def test_tables_replace_a_damaged_timeline(tmp_path: Path, text: str) -> None:
    folder = tables_of(tmp_path / "a_ascend_pt")
    whole = read_folder(folder)
    (folder / OUTPUT / TIMELINE).write_text(text)
    columns = read_folder(folder)
    assert columns.quality.counts["ascend_file_unreadable"] == 1
    assert kernels(columns) == kernels(whole)
    assert columns.info.recorder == "torch_npu.profiler"


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a_ascend_pt"
    (folder / OUTPUT).mkdir(parents=True)
    (folder / OUTPUT / "kernel_details.csv").write_text("Name,Start Time(us),Duration(us)\n")
    with pytest.raises(TraceFormatError) as raised:
        read_folder(folder)
    assert raised.value.code == "no_events"


def test_the_folder_of_the_tables_alone_is_listed(tmp_path: Path) -> None:
    tables_of(tmp_path / "a_ascend_pt")
    inner = tmp_path / "alone" / OUTPUT
    shutil.copytree(tmp_path / "a_ascend_pt" / OUTPUT, inner)
    found = {file.run for file in looked_into(open_location(str(tmp_path))).files}
    assert len(found) == 2


def test_kernels_of_several_devices(tmp_path: Path) -> None:
    folder = tmp_path / "a_ascend_pt"
    (folder / OUTPUT).mkdir(parents=True)
    frame = pl.DataFrame(
        {
            "Device_id": [3, 4, 4],
            "Stream ID": ["7", "7", "N/A"],
            "Name": ["Mul", "Mul", "hcom_allReduce__1_0_1"],
            "Accelerator Core": ["AI_CORE", "AI_CORE", "HCCL"],
            "Start Time(us)": [
                "1700000000000001.5\t",
                "1700000000000002.5\t",
                "1700000000000004\t",
            ],
            "Duration(us)": [1.25, 2.0, 3.0],
        }
    )
    frame.write_csv(folder / OUTPUT / "kernel_details.csv")
    trace = build_trace(read_folder(folder))
    rows = trace.device_work.sort("start_ns").select("device", "stream", "dur_ns").rows()
    assert rows == [(3, 7, 1250), (4, 7, 2000), (4, None, 3000)]
    labels = trace.tracks.filter("is_device")["process_label"].to_list()
    assert sorted(labels) == ["NPU 3", "NPU 4", "NPU 4"]
    assert trace.collectives.height == 1
