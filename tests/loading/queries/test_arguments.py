"""The arguments of a slice from its file, of a cached trace too, and why there are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fsspec
import pytest
from msgspec.structs import replace

from torch_tb_profiler.importers import kineto, registry
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.loading.queries import arguments
from torch_tb_profiler.loading.queries.arguments import arguments_answer
from torch_tb_profiler.requests.errors import UnknownError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.slices import SliceArgumentsAnswer
from torch_tb_profiler.storage.cache_folder import CacheFolder

SLICE = {"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 0, "dur": 2}


def document(**args: Any) -> str:
    return json.dumps({"traceEvents": [{**SLICE, "args": args}]})


def opened(folder: Path, cache: CacheFolder | None = None) -> Catalog:
    catalog = Catalog([TraceRoot(str(folder))], cache=cache, rescan_s=3600)
    file = catalog.file(None, None, None)
    catalog.store.request(file)
    catalog.store.wait([file], None)
    return catalog


def ask(catalog: Catalog) -> SliceArgumentsAnswer:
    return arguments_answer(catalog, Subject(), 0, None)


def told(answer: SliceArgumentsAnswer) -> dict[str, str | None]:
    return {argument.name: argument.text for argument in answer.arguments}


def test_every_argument_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "w.pt.trace.json").write_text(document(Extra="more", **{"External id": 7}))
    answer = ask(opened(tmp_path))
    assert (answer.state, answer.count, answer.problem) == ("found", 2, None)
    assert told(answer) == {"Extra": "more", "External id": "7"}
    assert [argument.in_model for argument in answer.arguments] == [False, True]


def test_of_a_trace_that_came_from_the_cache(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "w.pt.trace.json").write_text(document(Extra="more"))
    cache = CacheFolder(tmp_path / "cache")
    opened(logs, cache)
    wait_until_cached()
    assert told(ask(opened(logs, cache))) == {"Extra": "more"}


def test_a_file_that_changed_or_went(tmp_path: Path) -> None:
    path = tmp_path / "w.pt.trace.json"
    path.write_text(document(n=1))
    catalog = opened(tmp_path)
    path.write_text(document(n=1).replace('"ts": 0', '"ts": 77'))
    answer = ask(catalog)
    assert answer.state == "missing"
    assert answer.problem is not None
    assert answer.problem.code == "changed"
    path.unlink()
    problem = ask(catalog).problem
    assert problem is not None
    assert problem.code == "not_found"
    assert str(path) in problem.message


def test_there_is_no_such_slice(tmp_path: Path) -> None:
    (tmp_path / "w.pt.trace.json").write_text(document())
    with pytest.raises(UnknownError):
        arguments_answer(opened(tmp_path), Subject(), 1, None)


def test_far_away_no_more_is_fetched_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/far/w.pt.trace.json", document(n=1).encode())
    catalog = Catalog([TraceRoot("memory://far")], cache=None)
    monkeypatch.setattr(arguments, "MAX_REMOTE_BYTES", 10)
    answer = ask(catalog)
    assert answer.problem is not None
    assert answer.problem.code == "too_far"
    monkeypatch.setattr(arguments, "MAX_REMOTE_BYTES", 1 << 20)
    assert told(ask(catalog)) == {"n": "1"}
    memory.rm("/far", recursive=True)


def test_a_format_whose_files_are_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "w.pt.trace.json").write_text(document(n=1))
    catalog = opened(tmp_path)
    monkeypatch.setattr(registry, "FORMATS", (replace(kineto.FORMAT, finder=None),))
    answer = ask(catalog)
    assert answer.problem is not None
    assert answer.problem.code == "format_not_searched"
    assert ": such files are not searched" in answer.problem.message
    assert answer.problem.hint is not None


def test_results_are_cached_while_the_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "w.pt.trace.json").write_text(document(n=1))
    catalog = opened(tmp_path)
    first = ask(catalog)
    monkeypatch.setattr(arguments, "source_of", None)
    assert ask(catalog) == first
