"""Which files are recordings of AMD's profilers, and what similar ones are."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import rocpd, rocprof, rpd
from tests.importers.rocprof.opening import import_bytes, import_path
from torch_tb_profiler.importers import TraceFormatError
from torch_tb_profiler.importers.registry import detect_format

HEADS = (32 << 10, 64 << 10, 1 << 20)


def files(folder: Path) -> dict[Path, str]:
    """Files of every format → name of the format."""
    process = rocprof.training()
    database = rpd.write_rpd(folder / "a.rpd", [process])
    chrome = rpd.to_chrome(database)
    return {
        rocprof.write_json(folder / "1_results.json", [process]): "rocprof",
        rocprof.write_json(folder / "2_results.json", [process], indent=2): "rocprof",
        rocpd.write_rocpd(folder / "3_results.db", [process]): "rocprof",
        rocpd.write_rocpd(folder / "4_results.db", [process] * 20): "rocprof",
        database: "rocprof",
        rpd.write_chrome(folder / "b.json", chrome): "rocprof-chrome",
    }


def test_formats_by_their_heads(tmp_path: Path) -> None:
    for path, name in files(tmp_path).items():
        data = path.read_bytes()
        for size in HEADS:
            detection = detect_format(data[:size], path.name, size >= len(data))
            assert detection.is_trace, (path.name, size)
            assert detection.needs_more or detection.format == name, (path.name, size)
        assert not detection.needs_more


def test_files_are_read_whatever_their_chunks_and_names(tmp_path: Path) -> None:
    for path in files(tmp_path):
        data = path.read_bytes()
        whole = import_path(path)
        slices = len(whole.tables["slices"]["start_ns"])
        for chunk in (1000, 1 << 20):
            other = import_bytes(data, f"renamed{path.suffix}", chunk)
            assert len(other.tables["slices"]["start_ns"]) == slices
        packed = import_bytes(gzip.compress(data), f"renamed{path.suffix}.gz")
        assert packed.format == whole.format == "rocprof"


def test_the_object_form_of_chrome_json(tmp_path: Path) -> None:
    path = rpd.write_rpd(tmp_path / "a.rpd", [rocprof.training()])
    text = rpd.write_chrome(tmp_path / "a.json", rpd.to_chrome(path)).read_text()
    wrapped = f'{{"traceEvents": {text}}} \n'.encode()
    assert detect_format(wrapped, "a.json", True).format == "rocprof-chrome"
    columns = import_bytes(wrapped)
    assert len(columns.tables["slices"]["start_ns"]) == 16


def test_a_database_of_another_program_names_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE moz_places (id INTEGER)")
        base.commit()
    with pytest.raises(TraceFormatError, match="with the tables moz_places") as error:
        import_path(path)
    assert error.value.code == "not_nsight"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("1_kernel_trace.csv", b'"Kind","Agent_Id","Queue_Id"\n"KERNEL_DISPATCH",1,2', "table"),
        ("1_hip_api_trace.csv", b'"Domain","Function","Process_Id"\n', "table"),
        ("1_kernel_stats.csv", b'"Name","Calls","TotalDurationNs","AverageNs"\n', "summary"),
        ("1_results.otf2", b"\x00\x01OTF2", "Open Trace Format"),
    ],
)
def test_other_outputs_say_what_they_are(name: str, data: bytes, kind: str) -> None:
    with pytest.raises(TraceFormatError, match=kind) as error:
        import_bytes(data, name)
    assert error.value.code == "other_output"
    assert "--output-format rocpd json" in error.value.hint


@pytest.mark.parametrize("ending", ["json", "db", "rpd"])
def test_recordings_without_events_are_refused(tmp_path: Path, ending: str) -> None:
    process = rocprof.Process()
    path = tmp_path / f"x.{ending}"
    if ending == "json":
        rocprof.write_json(path, [process])
    elif ending == "db":
        rocpd.write_rocpd(path, [process])
    else:
        rpd.write_rpd(path, [process])
        with closing(sqlite3.connect(path)) as base:
            base.execute("DELETE FROM rocpd_monitor")
            base.commit()
    with pytest.raises(TraceFormatError, match="no events") as error:
        import_path(path)
    assert error.value.code == "no_events"


def test_json_of_something_else_is_not_taken(tmp_path: Path) -> None:
    documents: list[Any] = [{"tool": {"rocprofiler-sdk-tool": []}}, [{}, {"name": "process_name"}]]
    for document in documents:
        assert detect_format(json.dumps(document).encode(), "x.json", True).format != "rocprof"
