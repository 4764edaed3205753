"""A trace and an export of Nsight Systems of the same process, opened as users open them."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from tests.helpers.nsys import KERNEL, NVTX, RUNTIME, Row, called, pushed, ran, write_export
from tests.helpers.rocpd import write_rocpd
from tests.helpers.rocprof import Process, dispatch, write_json
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.trace.categories import Category

SAMPLE = Path("samples/h100_bert_small/rank0.pt.trace.json.gz")


class _Export(NamedTuple):
    """An export, and what was put into it."""

    path: Path
    kernels: list[dict[str, Any]]
    begin_us: float

    def after_first_ns(self, number: int) -> float:
        """When a kernel began, after the first one of the trace."""
        return (float(self.kernels[number]["ts"]) - self.begin_us) * 1000


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path / "cache"))


def _recorded(folder: Path) -> Path:
    return Path(shutil.copy(SAMPLE, folder / "rank0.pt.trace.json.gz"))


def _export(path: Path, *, seed: int = 0, variation: float = 0.0) -> _Export:
    """The kernels of the sample in an export with another clock, nine of ten of them, each with a
    call; a range around the middle third; samples of a metric."""
    rng = np.random.default_rng(seed)
    events = json.loads(gzip.decompress(SAMPLE.read_bytes()))["traceEvents"]
    kernels = sorted(
        (event for event in events if event.get("cat") == "kernel"), key=lambda each: each["ts"]
    )
    begin_us = float(kernels[0]["ts"])
    kernels = [each for each in kernels if rng.random() < 0.9]
    factors = 1 + variation * rng.normal(size=len(kernels))
    lag = np.cumsum(rng.exponential(50 * variation, len(kernels)))

    def on_clock(ts: float) -> int:
        return round((ts - begin_us) * 1000) + 5_000_000

    work: list[Row] = []
    calls: list[Row] = []
    for number, (each, factor, late) in enumerate(zip(kernels, factors, lag, strict=True), 1):
        start = on_clock(each["ts"] + late)
        work.append(
            ran(each["name"], start, start + round(each["dur"] * 1000 * factor), number, deviceId=5)
        )
        calls.append(called("cudaLaunchKernel_v7000", start - 9000, start - 4000, number))
    third = len(kernels) // 3
    span = (on_clock(kernels[third]["ts"]), on_clock(kernels[2 * third]["ts"]))
    first, last = on_clock(kernels[0]["ts"]), on_clock(kernels[-1]["ts"])
    tables: dict[str, list[Row]] = {
        KERNEL: work,
        RUNTIME: calls,
        NVTX: [pushed("middle", *span)],
        "TARGET_INFO_GPU_METRICS": [
            {"typeId": 5, "sourceId": 0, "typeName": "GPU", "metricId": 3,
             "metricName": "SMs Active [Throughput %]"}
        ],
        "GPU_METRICS": [
            {"timestamp": at, "typeId": 5, "metricId": 3, "value": 50}
            for at in range(first, last, (last - first) // 20)
        ],
    }  # fmt: skip
    return _Export(write_export(path, tables), kernels, begin_us)


def _notes(path: Path) -> dict[str, str]:
    notes = open_trace(path).view("overview").notes
    return {
        note.code: str(note.evidence["examples"])
        for note in notes
        if note.code.startswith("other_recording")
    }


def test_an_export_of_the_same_process_stands_on_the_clock_of_the_trace(tmp_path: Path) -> None:
    path = _recorded(tmp_path)
    alone = open_trace(path).trace
    export = _export(tmp_path / "report1.sqlite")
    joined = open_trace(path).trace
    count = len(export.kernels)
    (text,) = _notes(path).values()
    assert f"report1.sqlite: {count:,} of {count:,} kernels" in text

    added = joined.slices[alone.slices.height :]
    assert added["category"].unique().to_list() == [Category.OTHER_RECORDING]
    assert joined.slices[: alone.slices.height].equals(alone.slices)
    names = [joined.text(code) for code in added["name_code"].to_list()]
    middle = added.row(names.index("middle"), named=True)
    kernels = alone.device_work.filter(pl.col("category") == Category.KERNEL)
    first_ns = kernels["start_ns"].min()
    assert isinstance(first_ns, int)
    third = count // 3
    bounds = [export.after_first_ns(number) for number in (third, 2 * third)]
    assert middle["start_ns"] - first_ns == pytest.approx(bounds[0], abs=1000)
    assert middle["dur_ns"] == pytest.approx(bounds[1] - bounds[0], abs=1000)

    tracks = joined.tracks[alone.tracks.height :]
    assert "device 0, stream 7" in tracks["thread_name"].str.to_lowercase().to_list()

    samples = joined.samples
    assert samples.height >= 20
    assert kernels["device"].unique().to_list() == [0]  # the export numbers it 5
    assert {joined.text(code) for code in samples["source_code"].to_list()} == {"GPU 0"}
    begin_ns = samples["time_ns"].min()
    assert isinstance(begin_ns, int)
    assert begin_ns - first_ns == pytest.approx(export.after_first_ns(0), abs=1000)


def test_no_figure_counts_the_slices_of_the_other_recording(tmp_path: Path) -> None:
    path = _recorded(tmp_path)
    views = ("overview", "operators", "kernels", "idle", "critical_path", "copies", "modules")
    alone = {name: open_trace(path).view(name).tables for name in views}
    _export(tmp_path / "report1.sqlite")
    trace = open_trace(path)
    assert _notes(path)
    for name, tables in alone.items():
        joined = trace.view(name).tables
        for table, frame in tables.items():
            # Only what samples measure is filled in addition.
            known = [column.name for column in frame if column.null_count() < len(column)]
            assert joined[table].select(known).equals(frame.select(known)), (name, table)


def test_an_export_of_another_run_is_not_joined(tmp_path: Path) -> None:
    path = _recorded(tmp_path)
    _export(tmp_path / "report1.sqlite", variation=0.05)
    (code,) = _notes(path)
    assert code == "other_recording_not_joined"
    assert open_trace(path).trace.samples.is_empty()


def test_a_damaged_export_is_a_note_and_one_of_another_rank_is_not_opened(tmp_path: Path) -> None:
    path = _recorded(tmp_path)
    export = _export(tmp_path / "rank3.sqlite").path
    assert _notes(path) == {}
    damaged = export.read_bytes()[:5000]
    (tmp_path / "report.sqlite").write_bytes(damaged)
    assert list(_notes(path)) == ["other_recording_not_joined"]


def test_of_many_recordings_that_with_the_id_of_the_process_comes_first(tmp_path: Path) -> None:
    path = _recorded(tmp_path)
    events = json.loads(gzip.decompress(SAMPLE.read_bytes()))["traceEvents"]
    pid = next(event["pid"] for event in events if event.get("cat") == "cpu_op")
    for number in range(6):
        (tmp_path / f"{number}_results.json").write_text('{"rocprofiler-sdk-tool": []}')
    _export(tmp_path / f"report_{pid}.sqlite")
    assert set(_notes(path)) == {"other_recording_joined", "other_recording_not_joined"}


def test_recordings_beyond_those_that_are_tried_are_named(tmp_path: Path) -> None:
    path = _recorded(tmp_path)
    export = _export(tmp_path / "a.sqlite").path
    for name in "bcdef":
        shutil.copy(export, tmp_path / f"{name}.sqlite")
    notes = _notes(path)
    assert notes["other_recording_not_joined"].count("only 4 are tried") == 2
    assert "e.sqlite: only" in notes["other_recording_not_joined"]


@pytest.mark.parametrize("name", ["7_results.json", "7_results.db"])
def test_kernels_get_the_counters_that_rocprof_counted(tmp_path: Path, name: str) -> None:
    sample = Path("samples/mi300_bert_small/rank0.pt.trace.json.gz")
    path = Path(shutil.copy(sample, tmp_path / "rank0.pt.trace.json.gz"))
    events = json.loads(gzip.decompress(sample.read_bytes()))["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    names = sorted({str(event["name"]) for event in kernels})
    begin_us = min(event["ts"] for event in kernels)
    process = Process(kernels=names, counter_names=("SQ_WAVES", "MfmaUtil"))
    for number, event in enumerate(kernels, 1):
        start = 10**9 + round((event["ts"] - begin_us) * 1000 * (1 + 50e-6))
        end = start + round(event["dur"] * 1000)
        process.dispatches.append(
            dispatch(start, end, number, kernel=names.index(event["name"]), dispatch=number)
        )
        process.counters.append({"dispatch": number, "counter": 0, "value": 100.0 + number})
    write = write_json if name.endswith(".json") else write_rocpd
    write(tmp_path / name, [process])

    trace = open_trace(path).trace
    (text,) = _notes(path).values()
    assert f"{len(kernels):,} of {len(kernels):,} kernels" in text
    start_ns = trace.slices["start_ns"].to_list()
    values = {
        start_ns[row]: value
        for row, key, value in trace.arguments.select("slice", "key_code", "value").iter_rows()
        if trace.text(key) == "SQ_WAVES"
    }
    first_ns = min(values)
    expected = {
        round((event["ts"] - begin_us) * 1000): 100.0 + number
        for number, event in enumerate(kernels, 1)
    }
    assert {at - first_ns: value for at, value in values.items()} == expected
