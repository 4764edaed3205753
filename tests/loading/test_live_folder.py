"""Cases: a trace that is being written is hidden until it is complete, then opens whole; a replaced
one is parsed again; the trace of a writer that died is not hidden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.storage import file_completeness

Writer = Callable[..., Path]


def events(catalog: Catalog, run: str) -> int:
    file = catalog.file(run, None, None)
    (trace,) = when_ready(lambda wait_s: open_traces(catalog, [file], wait_s), lambda _: None)
    return trace.slices.height


def test_a_trace_appears_when_it_is_done(tmp_path: Path, write_trace: Writer) -> None:
    content = write_trace(tmp_path / "model.txt", ("a",) * 100).read_bytes()
    logdir = tmp_path / "logs"
    write_trace(logdir / "old" / "w.pt.trace.json")
    catalog = Catalog([TraceRoot(str(logdir))], cache=None)
    catalog.contents()
    live = logdir / "live" / "w.pt.trace.json"
    live.parent.mkdir()
    for end in (0, 10, len(content) // 2, len(content) - 1):
        live.write_bytes(content[:end].rstrip(b"}]"))
        contents = catalog.refresh()
        assert list(contents.runs) == ["old"]
        assert any("live/w.pt.trace.json" in note for note in contents.notes)
    live.write_bytes(content)
    assert list(catalog.refresh().runs) == ["live", "old"]
    assert catalog.contents().notes == ()
    assert events(catalog, "live") == 100
    write_trace(live, ("a",) * 7)
    catalog.refresh()
    assert events(catalog, "live") == 7
    live.unlink()
    assert list(catalog.refresh().runs) == ["old"]


def test_a_writer_that_died_does_not_hide_what_it_wrote(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_completeness, "SETTLED_S", 3600.0)
    write_trace(tmp_path / "r1" / "w.pt.trace.json")
    catalog = Catalog([TraceRoot(str(tmp_path))], cache=None)
    catalog.contents()
    content = write_trace(tmp_path / "model.txt", ("a",) * 100).read_bytes()
    dead = tmp_path / "r2" / "w.pt.trace.json"
    dead.parent.mkdir()
    dead.write_bytes(content[: len(content) // 2])
    assert list(catalog.refresh().runs) == ["r1"]
    monkeypatch.setattr(file_completeness, "SETTLED_S", 0.0)
    assert list(catalog.refresh().runs) == ["r1", "r2"]
    assert 40 < events(catalog, "r2") < 60


def test_a_trace_of_any_name_appears_when_it_is_done(tmp_path: Path, write_trace: Writer) -> None:
    content = write_trace(tmp_path / "model.txt", ("a",) * 100).read_bytes()
    logdir = tmp_path / "logs"
    logdir.mkdir()
    catalog = Catalog([TraceRoot(str(logdir))], cache=None)
    catalog.contents()
    live = logdir / "mine.json"
    for end in (0, 10):
        live.write_bytes(content[:end])
        assert not catalog.refresh().runs
    live.write_bytes(content[: len(content) // 2])
    contents = catalog.refresh()
    assert not contents.runs
    assert [one.reason for one in contents.skipped] == ["unfinished"]
    live.write_bytes(content)
    assert list(catalog.refresh().runs) == ["mine"]
    assert events(catalog, "mine") == 100
    live.write_text("{}")
    contents = catalog.refresh()
    assert not contents.runs
    assert [one.reason for one in contents.skipped] == ["not_a_trace"]
