"""Command lines, environments and hosts of recordings reach neither the trace nor an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import rocpd, rocprof
from tests.importers.rocprof.opening import import_path
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.reports.chrome_trace import chrome_json
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import save_trace

SECRET = "secret"


@pytest.mark.parametrize("ending", ["json", "db"])
def test_no_secret_of_the_file_is_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x_results.{ending}"
    process = rocprof.training()
    write = rocprof.write_json if ending == "json" else rocpd.write_rocpd
    write(path, [process])
    assert SECRET.encode() in path.read_bytes()
    columns = import_path(path)
    assert SECRET not in " ".join(columns.strings)
    assert SECRET not in repr((columns.tracks, columns.info, columns.quality))
    trace = build_trace(columns)
    folder = tmp_path / "cache"
    folder.mkdir()
    save_trace(trace, folder)
    for file in folder.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()
    assert SECRET not in b"".join(chrome_json(trace, Selection())).decode()
