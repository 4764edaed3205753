"""Folders that are one trace each, recognized by name and content, local and remote."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from tests.helpers.discovered import discover
from torch_tb_profiler.importers import trace_names
from torch_tb_profiler.storage.discovery import no_traces_error
from torch_tb_profiler.storage.locations import open_location

OUTPUT = "ASCEND_PROFILER_OUTPUT"
LOGDIR = (
    "own_ascend_pt/notes.txt",  # somebody's own folder of such a name
    f"own_ascend_pt/job/n1_7_20250109074804100_ascend_pt/{OUTPUT}/trace_view.json",
    "own_ascend_pt/w.pt.trace.json",
    f"copied/rank0/{OUTPUT}/trace_view.json",  # a folder that was renamed
    f"copied/rank0/{OUTPUT}/communication.json",
    f"copied/rank1/{OUTPUT}/ascend_pytorch_profiler_1.db",
    "raw/x_ascend_ms/PROF_0_1/device_0/data.bin",
    f"tables/{OUTPUT}/op_statistic.csv",
)


@pytest.fixture(params=["local", "remote"])
def logdir(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    for name in LOGDIR:
        if request.param == "remote":
            fsspec.filesystem("memory").pipe(f"{tmp_path}/{name}", b"{}")
        else:
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("{}")
    scheme = "memory://" if request.param == "remote" else ""
    return f"{scheme}{tmp_path}"


def test_a_folder_is_a_trace_by_its_name_and_what_it_holds(logdir: str) -> None:
    files = discover(open_location(logdir)).files
    found = {(each.run, each.worker, each.location.name, each.format) for each in files}
    assert found == {
        ("own_ascend_pt/job", "n1_7", "n1_7_20250109074804100_ascend_pt", "ascend"),
        ("own_ascend_pt", "w", "w.pt.trace.json", "kineto"),
        ("copied", "rank0", OUTPUT, "ascend"),
        ("copied", "rank1", OUTPUT, "ascend"),
        ("raw", "x", "x_ascend_ms", "ascend"),
        ("tables", OUTPUT, OUTPUT, "ascend"),
    }


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (f"copied/rank0/{OUTPUT}", [OUTPUT]),
        ("raw/x_ascend_ms", ["x_ascend_ms"]),
        ("own_ascend_pt", ["n1_7_20250109074804100_ascend_pt", "w.pt.trace.json"]),
    ],
)
def test_folders_that_are_named_directly(logdir: str, named: str, found: list[str]) -> None:
    place = open_location(f"{logdir}/{named}")
    assert [each.location.name for each in discover(place).files] == found


def test_an_empty_folder_says_each_name_once(tmp_path: Path) -> None:
    place = open_location(str(tmp_path))
    hint = no_traces_error(place, trace_names(), discover(place)).hint
    assert hint is not None
    assert hint.count(" .json(.gz)") == 1
    assert "or .json" not in hint
    assert "*_ascend_pt, *_ascend_ms" in hint
    assert len(hint) < 600
