"""A folder with dumps of the flight recorder alone is a run, and its report says who hangs."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done
from tests.helpers.flight_dumps import planted

HANGS = Path(__file__).parents[1] / "data" / "hangs"


def test_a_folder_of_dumps_is_reported(run: Callable[..., Done], tmp_path: Path) -> None:
    for path in (HANGS / "skip").iterdir():
        shutil.copy(path, tmp_path / path.name)
    done = run("report", tmp_path, "--view", "hang")
    assert done.code == 0
    assert "Rank 1 called all_gather as #4 of the group of all ranks" in done.out


def test_dumps_as_json_without_rank_in_the_name_are_one_run(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    for path in (HANGS / "sleep").glob("*.json"):
        shutil.copy(path, tmp_path / path.name)
    done = run("report", tmp_path, "--view", "hang")
    assert done.code == 0
    assert "Rank 2 never called all_reduce #4" in done.out


def test_dumps_and_traces_of_a_job_are_one_run(run: Callable[..., Done], tmp_path: Path) -> None:
    for path in (HANGS / "sleep").glob("fr_trace_rank_*"):
        shutil.copy(path, tmp_path / path.name)
    (tmp_path / "fr_trace_rank_3").unlink()
    for rank in (0, 2, 3):
        write_trace(tmp_path, rank)
    done = run("report", tmp_path, "--view", "hang", "--format", "json")
    assert done.code == 0
    assert "Rank 2 never called all_reduce #4" in done.out
    assert "Rank 3 has no dump" in done.out
    overview = run("report", tmp_path, "--view", "distributed")
    assert "fr_trace_rank_0" not in overview.out


def test_dumps_of_two_back_ends_are_one_run(run: Callable[..., Done], tmp_path: Path) -> None:
    for path in (HANGS / "sleep").glob("fr_trace_rank_*"):
        shutil.copy(path, tmp_path / path.name)
    for rank, content in planted(3, "none").dumps.items():
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(content, 2))
    done = run("report", tmp_path, "--view", "hang")
    assert done.code == 0
    assert "Rank 2 never called all_reduce #4" in done.out
    assert "nccl_trace_rank_3" in done.out


def write_trace(folder: Path, rank: int) -> None:
    """A Kineto trace of a rank of the job that slept, in a loop around the moment of the hang."""
    document = {
        "schemaVersion": 1,
        "baseTimeNanoseconds": 0,
        "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 4},
        "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9}
        ],
    }
    (folder / f"rank{rank}.1.pt.trace.json").write_text(json.dumps(document))
