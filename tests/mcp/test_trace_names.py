"""Cases: short names name one recording; names with slashes; several recordings; new recordings;
nothing but names of the catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.mcp_answers import opened
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.trace_names import (
    all_files,
    file_named,
    files_named,
    shortest_names,
    whole_name,
)
from torch_tb_profiler.requests.errors import LoadingError

Writer = Callable[..., Path]


def test_short_names_are_those_of_one_recording(tmp_path: Path, write_trace: Writer) -> None:
    for name in ("a/w0", "b/w0", "b/w1", "c/d/w0.1", "c/d/w0.2"):
        write_trace(tmp_path / f"{name}.pt.trace.json")
    with opened(tmp_path) as context:
        files = all_files(context)
        names = shortest_names(files)
        assert names == ["a", "b/w0", "b/w1", "c/d/w0/1", "c/d/w0/2"]
        for name, file in zip(names, files, strict=True):
            assert files_named(context, name) == [file]
            assert files_named(context, whole_name(file)) == [file]
        assert files_named(context, "b") == files[1:3]
        assert files_named(context, "c/d") == files[3:]
        assert files_named(context, "") == files
        assert file_named(context, " c/d/w0/ ") == files[3]


def test_runs_of_several_folders_have_the_name_of_their_folder(
    tmp_path: Path, write_trace: Writer
) -> None:
    for folder in ("before", "after"):
        write_trace(tmp_path / folder / "run" / "w.pt.trace.json")
    roots = [TraceRoot(str(tmp_path / folder)) for folder in ("before", "after")]
    store = TraceStore(cache=None)
    context = ToolContext(Catalog(roots, cache=None, store=store))
    try:
        assert shortest_names(all_files(context)) == ["before/run", "after/run"]
        assert file_named(context, "after/run").run == "after/run"
    finally:
        store.close()


def test_a_new_recording_has_a_name(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "a" / "w.pt.trace.json")
    with opened(tmp_path) as context:
        assert len(all_files(context)) == 1
        write_trace(tmp_path / "b" / "w.pt.trace.json")
        assert file_named(context, "b").run == "b"


@pytest.mark.parametrize(
    "name",
    ["../a", "/etc/passwd", "a/../../x", "a\0", "file:///etc/passwd", "s3://b/c", "a" * 4096],
)
def test_nothing_else_is_a_name(tmp_path: Path, write_trace: Writer, name: str) -> None:
    write_trace(tmp_path / "logs" / "a" / "w.pt.trace.json")
    write_trace(tmp_path / "a" / "secret.pt.trace.json")
    with opened(tmp_path / "logs") as context:
        with pytest.raises(LoadingError) as caught:
            file_named(context, name)
        assert caught.value.problem.code == "unknown_trace"
        assert "secret" not in str(caught.value.problem)


def test_a_near_name_is_suggested(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "resnet50" / "w.pt.trace.json")
    with opened(tmp_path) as context, pytest.raises(LoadingError) as caught:
        file_named(context, "resnet5")
    assert "Did you mean resnet50" in str(caught.value.problem.hint)


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    with opened(tmp_path) as context, pytest.raises(LoadingError) as caught:
        all_files(context)
    assert caught.value.problem.code == "no_traces"
