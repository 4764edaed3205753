"""A format of files and folders that this test invents: declared in one object and listed in the
registry, it is discovered, opened, cached and shown as any other, without changes elsewhere.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import fsspec
import numpy as np
import pytest
from werkzeug.test import Client

from tests.helpers.discovered import discover
from torch_tb_profiler import open_trace
from torch_tb_profiler.importers import Reading, registry
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.source import AnySource, Folder, Source
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.storage import file_completeness
from torch_tb_profiler.storage.file_completeness import CompletenessTracker
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.names import NamePattern
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, EventColumns, Track, empty_table
from torch_tb_profiler.trace.columns import TABLE_COLUMNS as TABLES
from torch_tb_profiler.trace.info import TraceInfo

HEAD = b"TINY 1\n"
FOLDER_FILE = "parts/{}.txt"


def parse(line: str) -> tuple[str, int, int]:
    name, start_us, dur_us = line.split()
    return name, int(start_us) * 1000, int(dur_us) * 1000


def lines_of(source: AnySource) -> Iterator[str]:
    if isinstance(source, Folder):
        for name in sorted(source.files):
            yield from lines_of(source.files[name]())
        return
    text = b"".join(source.unpacked()).removeprefix(HEAD)
    yield from text.decode().splitlines()


def read(source: AnySource, reading: Reading) -> EventColumns:
    """One operator per line ``<name> <start> <duration>``; the lines are the pieces."""
    parts = [part for _, part in reading.read_pieces(lines_of(source), parse)]
    if isinstance(source, Source):
        reading.progress(source.taken_bytes)
    if not parts:
        raise TraceFormatError("no_events", f"{source.name} holds no line.", "Write some.")
    names, start_ns, dur_ns = (list(column) for column in zip(*parts, strict=True))
    strings = sorted(set(names))
    count = len(parts)
    tables = {name: empty_table(name) for name in TABLES}
    tables["slices"] = {
        "category": np.full(count, Category.OPERATOR, np.int8),
        "raw_category_code": np.full(count, -1, np.int32),
        "name_code": np.array([strings.index(name) for name in names], np.int32),
        "track": np.zeros(count, np.int32),
        "start_ns": np.array(start_ns, np.int64),
        "dur_ns": np.array(dur_ns, np.int64),
        "correlation": np.full(count, ABSENT, np.int64),
        "external_id": np.full(count, ABSENT, np.int64),
    }
    info = TraceInfo(framework="tiny", host_name="here")
    return EventColumns("tiny", tables, strings, [Track("1", "1")], 0, 1, info)


FORMAT = Importer(
    name="tiny",
    label="Tiny",
    title="A format of this test",
    module="a_format_that_is_made_up",
    sniff=lambda head, _name: head.startswith(HEAD),
    files=(NamePattern.ending_with(".tiny"),),
    folders=(NamePattern.ending_with("_tiny"),),
    endings=(".txt",),
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType(FORMAT.module)
    module.read = read  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, FORMAT.module, module)
    monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, FORMAT))


def write_folder(folder: Path, *files: str) -> None:
    for number, text in enumerate(files):
        file = folder / FOLDER_FILE.format(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def logdir(tmp_path: Path, write_trace: Callable[..., Path]) -> Path:
    folder = tmp_path / "logs"
    (folder / "run").mkdir(parents=True)
    (folder / "run" / "rank0.5.tiny").write_bytes(HEAD + b"mm 10 20\nadd 12 5\nmm 40 1\n")
    write_folder(folder / "run" / "rank1.7_tiny", "mm 0 2\n", "relu 3 4\n")
    write_trace(folder / "run" / "rank2.pt.trace.json", ("a",))
    return folder


def spans(logdir: str) -> list[tuple[str, str, str, str]]:
    files = Catalog([TraceRoot(logdir)], cache=None).contents().files()
    return [(file.run, file.worker, file.span, file.location.name) for file in files]


EXPECTED = [
    ("run", "rank0", "1", "rank0.5.tiny"),
    ("run", "rank1", "1", "rank1.7_tiny"),
    ("run/kineto", "rank2", "default", "rank2.pt.trace.json"),  # of another format, so a stranger
]


def test_files_and_folders_are_discovered_by_name(logdir: Path) -> None:
    assert spans(str(logdir)) == EXPECTED


def test_discovery_in_an_object_store(logdir: Path) -> None:
    memory = fsspec.filesystem("memory")
    for path in logdir.rglob("*"):
        if path.is_file():
            memory.pipe(f"/new_format/{path.relative_to(logdir).as_posix()}", path.read_bytes())
    assert spans("memory://new_format") == EXPECTED
    with open_trace("memory://new_format", worker="rank1", cache=False) as opened:
        assert opened.operators().frame["name"].to_list() == ["relu", "mm"]


def test_views_show_them(logdir: Path) -> None:
    with open_trace(logdir, worker="rank0", cache=False) as opened:
        assert opened.trace.meta.format == "tiny"
        frame = opened.operators(sort="name").frame
    assert frame.select("name", "calls", "host_total_us").rows() == [
        ("add", 1, 5.0),
        ("mm", 2, 21.0),
    ]


@pytest.mark.parametrize("path", ["run/rank1.7_tiny", "."])
def test_a_folder_is_one_trace_and_is_cached(logdir: Path, tmp_path: Path, path: str) -> None:
    opened, cache = logdir / path, tmp_path / "cache"
    with open_trace(opened, worker="rank1", cache_dir=cache) as first:
        assert first.operators(sort="name").frame["name"].to_list() == ["mm", "relu"]
    write_folder(logdir / "run" / "rank1.7_tiny", "mm 0 2\n", "tanh 3 4\n")
    with open_trace(opened, worker="rank1", cache_dir=cache) as changed:
        assert changed.operators(sort="name").frame["name"].to_list() == ["mm", "tanh"]


def test_an_empty_folder_is_an_error(logdir: Path) -> None:
    shutil.rmtree(logdir / "run" / "rank1.7_tiny" / "parts")
    with pytest.raises(OpenError) as caught:
        open_trace(logdir / "run" / "rank1.7_tiny", cache=False)
    assert "rank1.7_tiny holds no line" in caught.value.problem.message


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_no_file_of_a_folder_leads_out_of_the_logdir(logdir: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret 1 2\n")
    os.symlink(tmp_path / "secret.txt", logdir / "run" / "rank1.7_tiny" / "parts" / "9.txt")
    catalog = Catalog([TraceRoot(str(logdir))], cache=None)
    contents = catalog.contents()
    assert [file.worker for file in contents.files()] == ["rank0", "rank2"]
    assert any("leads out of the logdir" in note for note in contents.notes)


def test_a_folder_that_is_being_written_appears_when_it_is_complete(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, files, now_s = logdir / "run" / "rank1.7_tiny", CompletenessTracker(), [0.0]
    monkeypatch.setattr(
        file_completeness, "time", SimpleNamespace(time=time.time, monotonic=lambda: now_s[0])
    )
    location = open_location(str(logdir))

    def workers() -> list[str]:
        files.begin_scan()
        return [file.worker for file in discover(location, files).files]

    assert "rank1" in workers(), "the first scan takes everything as it is"
    write_folder(folder, "mm 0 2\n", "relu 3 4\n", "add 5 6\n")
    assert "rank1" not in workers()
    now_s[0] += file_completeness.SETTLED_S / 2
    (folder / FOLDER_FILE.format(2)).write_text("add 5 6\nadd 7 8\n")
    assert "rank1" not in workers()
    now_s[0] += file_completeness.SETTLED_S / 2
    assert "rank1" not in workers()
    now_s[0] += file_completeness.SETTLED_S
    assert "rank1" in workers()


def test_a_folder_cannot_be_downloaded(logdir: Path) -> None:
    client = Client(
        standalone_app(Site(Catalog([TraceRoot(str(logdir))], cache=None), "standalone"))
    )
    answer = client.get("/api/download?run=run&worker=rank1")
    assert answer.status_code == 422
    assert "rank1.7_tiny" in answer.text
    assert client.get("/api/download?run=run&worker=rank0").data.startswith(HEAD)


def test_the_hint_of_an_empty_logdir_names_the_patterns(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    problem = Catalog([TraceRoot(str(tmp_path))], cache=None).contents().problem
    assert problem is not None
    assert problem.hint is not None
    assert "*.pt.trace.json(.gz), " in problem.hint
    assert ", *.tiny, " in problem.hint
    assert " and *_tiny" in problem.hint
    assert "notes.txt" in problem.hint
