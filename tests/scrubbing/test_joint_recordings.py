"""Figures are compared by the copy itself, which is refused where one differs. Cases: folders of
torch_npu as text and as database and of MindSpore, with secrets in tables, texts, JSON, a database,
files that no view reads, and names of folders."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.ascend import OUTPUT, Run, write_database, write_text
from tests.scrubbing import planted, planted_databases
from tests.scrubbing.planted import SECRETS
from tests.scrubbing.planted_messages import field
from torch_tb_profiler import scrub
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import trace_names
from torch_tb_profiler.loading.opening.open_file import open_trace_file
from torch_tb_profiler.scrubbing import copying
from torch_tb_profiler.scrubbing.table_copy import texts_of_table
from torch_tb_profiler.storage.discovery import DiscoveryOptions, discover
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

MINDSPORE = Path(__file__).parents[1] / "data" / "mindspore_r1"


def _traces(folder: Path) -> list[Trace]:
    """All recordings of a folder."""
    spans = discover(open_location(str(folder)), DiscoveryOptions(trace_names())).files
    return [open_trace_file(span.location, None, cache=None).trace for span in spans]


def _plant_in_tables(folder: Path) -> None:
    """New columns of secrets in every table, and other files with some."""
    secrets = [*planted.SECRETS.values()]
    for path in folder.rglob("*.csv"):
        rows = list(csv.reader(path.read_text().splitlines(keepends=True)))
        rows[0] += ["Note", "JSON", "Node Name", *planted.FIELD_SECRETS]
        for number, row in enumerate(rows[1:]):
            secret = secrets[number % len(secrets)]
            noted = [f"see {secret}", json.dumps({"x": secret}), planted.SECRETS["host"]]
            row.extend([*noted, *planted.FIELD_SECRETS.values()])
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    output = folder / OUTPUT if (folder / OUTPUT).exists() else folder
    (output / "acme_notes.csv").write_text("\n".join(secrets))
    raw = folder / "PROF_000001_ANNLEE" / "host"
    raw.mkdir(parents=True)
    (raw / "data").write_bytes(b"\0" + "\n".join(secrets).encode())
    metadata = folder / "profiler_metadata.json"
    if metadata.exists():
        planted.plant_in_json(metadata, metadata)


def _write_text(folder: Path) -> None:
    run = Run()
    run.kernels *= 30
    write_text(folder, run)
    _plant_in_tables(folder)


def _write_database(folder: Path) -> None:
    write_database(folder, Run())
    database = folder / OUTPUT / "ascend_pytorch_profiler_0.db"
    shutil.move(database, folder / "plain.db")
    planted_databases.plant_in_database(folder / "plain.db", database)
    (folder / "plain.db").unlink()
    _plant_in_tables(folder)


@pytest.mark.parametrize("write", [_write_text, _write_database])
def test_folders_of_ascend(write: Callable[[Path], None], tmp_path: Path) -> None:
    original = tmp_path / "in"
    write(original / "gpu-node-17.acme.internal_4711_20240101120000123_ascend_pt")
    result = scrub(original, tmp_path / "copy")
    assert planted.leaks(original) >= set(planted.FIELD_SECRETS.values())
    assert planted.leaks(tmp_path / "copy") == set()
    assert b"planted-secret" not in b"".join(
        path.read_bytes() for path in (tmp_path / "copy").rglob("*") if path.is_file()
    )
    assert len(_traces(tmp_path / "copy")) == 1
    (folder,) = (tmp_path / "copy").iterdir()
    assert re.fullmatch(r"run-[a-z]1_20240101120000123_ascend_pt", folder.name)
    unread = [each.source.rpartition("/")[2] for each in result.omitted]
    assert sorted(unread) == ["ASCEND_PROFILER_OUTPUT", "PROF_000001_ANNLEE"]


def test_a_folder_of_one_recording_is_in_the_copy_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "first_difference", lambda *_: None)
    original = tmp_path / "rank0_ascend_pt"
    write_text(original, Run())
    scrub(original, tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["rank0_ascend_pt"]
    assert len(_traces(tmp_path / "copy")) == 1


@pytest.mark.parametrize("name", ["profiler", "run_1_excerpt", "minddata_pipelines"])
def test_folders_of_mindspore(name: str, tmp_path: Path) -> None:
    original = tmp_path / "in" / name
    shutil.copytree(MINDSPORE / name, original)
    for path in original.glob("aicore_intermediate_*_detail.csv"):
        text = path.read_text().rstrip("\n")
        path.write_text(text + "\nDefault//home/annlee/acme_corp-op1,0.1,1\n")
    result = scrub(original.parent, tmp_path / "copy")
    assert [each for each in result.omitted if each.is_recording] == []
    assert planted.leaks(tmp_path / "copy") == set()
    counts = [len(_traces(side)) for side in (original.parent, tmp_path / "copy")]
    assert counts[0] == counts[1] > 0


def test_numbers_and_delimiters_of_tables_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "first_difference", lambda *_: None)
    original = tmp_path / "in" / "rank0_ascend_pt"
    write_text(original, Run())
    table = original / OUTPUT / "kernel_details.csv"
    lines = table.read_text().splitlines()
    table.write_bytes("\r\n".join(lines).encode() + b"\r\n")
    scrub(original.parent, tmp_path / "copy")
    copy = tmp_path / "copy" / "rank0_ascend_pt" / OUTPUT / "kernel_details.csv"
    assert copy.read_bytes() == table.read_bytes()


def test_a_recording_whose_copy_differs_is_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a_ascend_pt", "b_ascend_pt"):
        write_text(tmp_path / "in" / name, Run())
    differences = iter([None, "view kernels"])
    monkeypatch.setattr(copying, "first_difference", lambda *_: next(differences))
    result = scrub(tmp_path / "in", tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["run-a_ascend_pt"]
    assert {file.target.split("/")[0] for file in result.files} == {"run-a_ascend_pt"}
    assert result.omitted[0].reason == "Its copy would give other figures: view kernels."


@pytest.mark.parametrize("form", ["text", "db"])
def test_shapes_go_on_request(form: str, corpus: Path, tmp_path: Path) -> None:
    source = corpus / "ascend_torch_npu" / form / "level1"
    shape = b"32,3,224,224"
    for option in (True, False):
        scrub(source, tmp_path / str(option), shapes=option)
        files = [path for path in (tmp_path / str(option)).rglob("*") if path.is_file()]
        data = b"".join(path.read_bytes() for path in files)
        assert (shape in data) == option


def test_memory_of_mindspore(tmp_path: Path) -> None:
    tensors = [
        field(4, [field(1, n), field(2, 512), field(3, "Common"), field(4, 0), field(5, 1)])
        for n in range(2)
    ]
    node = [field(1, "Conv2D-op7"), field(2, 0), field(4, bytes([0, 1]))]
    other = [field(1, "MatMul-op9"), field(2, 1), field(3, bytes([0, 1]))]
    graph = [field(2, 100), field(3, node), field(3, other), *tensors, field(5, SECRETS["path"])]
    source = tmp_path / "in" / "profiler" / "memory_usage_0.pb"
    source.parent.mkdir(parents=True)
    source.write_bytes(field(1, graph) + field(2, 1 << 35))
    result = scrub(tmp_path / "in", tmp_path / "copy")
    assert result.omitted == ()
    expected = [*graph[:-1], field(5, "path-a")]
    copy = tmp_path / "copy" / "profiler" / "memory_usage_0.pb"
    assert copy.read_bytes() == field(1, expected) + field(2, 1 << 35)


def test_a_line_without_end_is_refused() -> None:
    chunks = (b"x" * (1 << 20) for _ in range(100))
    with pytest.raises(TraceFormatError, match="a line of more than"):
        list(texts_of_table(chunks, "table.csv"))
