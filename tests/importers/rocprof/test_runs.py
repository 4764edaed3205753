"""Which files of a folder are one run: processes of one host or several, ranks, and outputs of one
recording in several formats."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import rocpd, rocprof, rpd
from tests.helpers.discovered import looked_into
from torch_tb_profiler.storage.locations import open_location


def workers(folder: Path) -> set[tuple[str, str]]:
    """(run, worker) of every trace of a folder."""
    files = looked_into(open_location(str(folder))).files
    return {(each.run, each.worker) for each in files}


def test_processes_of_a_job_are_workers(tmp_path: Path) -> None:
    for host in ("alpha", "beta"):
        for pid in (100, 101):
            path = tmp_path / "job" / host / f"{pid}_results.db"
            path.parent.mkdir(parents=True, exist_ok=True)
            rocpd.write_rocpd(path, [rocprof.training()])
    assert workers(tmp_path) == {
        ("job", f"{host}-{pid}") for host in ("alpha", "beta") for pid in (100, 101)
    }
    assert workers(tmp_path / "job" / "alpha") == {("alpha", "100"), ("alpha", "101")}


def test_ranks_in_names(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for rank in range(2):
        rocprof.write_json(tmp_path / "log" / f"rank{rank}_results.json", [rocprof.training()])
    assert workers(tmp_path) == {("log", "rank0"), ("log", "rank1")}


def test_one_recording_in_several_formats_is_listed_once(tmp_path: Path) -> None:
    process = rocprof.training()
    database = rpd.write_rpd(tmp_path / "a.rpd", [process])
    rpd.write_chrome(tmp_path / "a.json", rpd.to_chrome(database))
    rocpd.write_rocpd(tmp_path / "7_results.db", [process])
    rocprof.write_json(tmp_path / "7_results.json", [process])
    discovery = looked_into(open_location(str(tmp_path)))
    assert {each.worker for each in discovery.files} == {"a", "7"}
    assert discovery.skipped.openable.keys() == {"a.json", "7_results.json"}
