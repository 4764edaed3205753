"""A folder of files is discovered, opened and cached, even if it has side tables only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.discovered import discover
from tests.importers.mindspore.folders import DATA, folder_of, opened
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.cache import load_trace, save_trace


def test_each_device_of_a_folder_is_a_worker() -> None:
    runs: dict[str, list[str]] = {}
    for file in discover(open_location(str(DATA))).files:
        runs.setdefault(file.run, []).append(file.worker)
    assert runs == {
        "minddata_pipelines": ["rank0", "rank1", "rank2", "rank3"],
        "parallel_strategy": ["rank0", "rank1"],
        "profiler": ["rank0", "rank1", "rank10"],
        "run_1_excerpt": ["rank1"],
    }


def test_a_recording_without_events_is_cached(tmp_path: Path) -> None:
    text = (DATA / "profiler" / "pipeline_profiling_0.json").read_bytes()
    trace = opened(folder_of({"pipeline_profiling_0.json": text}))
    save_trace(trace, tmp_path)
    again = load_trace(tmp_path)
    assert again.slices.is_empty()
    assert again.meta == trace.meta
    assert again.side["pipeline"].frame.equals(trace.side["pipeline"].frame)
    assert again.side["pipeline"].source == "pipeline_profiling_0.json"


def test_a_file_that_is_too_large_is_cut_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "side_file_bytes=200")
    rows = "step_num,start_point,end_point,total\n" + "1,100,200,100\n" * 50
    trace = opened(
        folder_of(
            {
                "step_trace_raw_0_detail_time.csv": rows,
                "flops_summary_0.json": '{"FLOPs": 1, "x": "' + "y" * 300 + '"}',
            }
        )
    )
    assert set(trace.side) == {"recorded_step_trace"}
    assert trace.side["recorded_step_trace"].frame.height == (200 - 37) // 14
    assert trace.quality.counts["truncated"] == 1
    assert trace.quality.counts["side_file_unreadable"] == 1
