"""Views that are stored with the trace: which are, what else they depend on, and that one that
cannot be used is computed again. The views are tiny ones defined here, and count how often they are
computed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.views import use_views
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.user_rules import parse_user_rules
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening import stored_answers
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries import stored_views
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import RulesSource
from torch_tb_profiler.requests.questions import Subject, TableQuery, ViewRequest
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.parameters import Parameter
from torch_tb_profiler.views.schema import Column, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

NAMES = TableSpec("names", "Names", "A slice.", (Column("name", "Name", "string", None, "What."),))
OPTION = Parameter("option", "option", "TEXT", "anything")

Writer = Callable[..., Path]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the views, one for each time that one is computed; every view is stored."""
    computed: list[str] = []

    def spec_of(name: str) -> ViewSpec:
        def function(trace: Trace, _selection: Selection, **_options: object) -> View:
            computed.append(name)
            names = [trace.text(code) for code in trace.slices["name_code"]]
            return View({"names": Table(NAMES, pl.DataFrame({"name": names}))})

        return ViewSpec(name, name, "?", "trace", (NAMES,), function, parameters=(OPTION,))

    use_views(monkeypatch, spec_of("one"), spec_of("two"))
    monkeypatch.setattr(stored_views, "LONG_S", -1.0)
    stored_answers.program_version()
    return computed


@pytest.fixture
def path(tmp_path: Path, write_trace: Writer) -> Path:
    return write_trace(tmp_path / "run" / "w.1.pt.trace.json", ("aten::mm", "aten::add"))


def ask(
    path: Path,
    cache: CacheFolder,
    view: str = "one",
    *,
    subject: Subject | None = None,
    rows: TableQuery | None = None,
    rules: RulesSource | None = None,
) -> list[str | None]:
    """The rows of a view, asked of a store that has opened nothing."""
    store = TraceStore(cache=cache, parser=Parser(1), rules=rules)
    catalog = Catalog([TraceRoot(str(path))], cache=cache, store=store)
    request = ViewRequest(view, subject or Subject(), rows=rows or TableQuery())
    result = view_result(catalog, request, wait_s=None)
    wait_until_cached()
    store.close()
    return result.view.tables["names"].frame["name"].to_list()


def test_each_view_of_a_whole_recording_is_computed_once(
    path: Path, tmp_path: Path, asked: list[str]
) -> None:
    cache = CacheFolder(tmp_path / "cache")
    for _ in range(3):
        assert ask(path, cache) == ["aten::mm", "aten::add"]
    assert ask(path, cache, rows=TableQuery(sort="name")) == ["aten::add", "aten::mm"]
    assert asked == ["one"]
    assert ask(path, cache, "two") == ["aten::mm", "aten::add"]
    assert asked == ["one", "two"]


def test_whatever_else_is_asked_is_computed(path: Path, tmp_path: Path, asked: list[str]) -> None:
    cache = CacheFolder(tmp_path / "cache")
    for subject in (
        Subject(selection=Selection(start_ns=0)),
        Subject(selection=Selection(group_by=None, iterations_by="auto")),
        Subject(parameters={"option": "x"}),
    ):
        ask(path, cache, subject=subject)
        ask(path, cache, subject=subject)
    assert asked == ["one"] * 6
    ask(path, cache)
    ask(path, cache, subject=Subject(parameters={"of_another_view": "x"}))
    assert asked == ["one"] * 7


def test_another_state_of_the_file_of_the_rules_or_of_the_program_is_another_answer(
    path: Path,
    tmp_path: Path,
    asked: list[str],
    write_trace: Writer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = CacheFolder(tmp_path / "cache")
    rules = tmp_path / "rules.toml"
    ask(path, cache, rules=RulesSource(rules, is_optional=True))
    rules.write_text('[[kernel]]\nmatch = "x"\ncategory = "gemm"\n')
    assert parse_user_rules(rules.read_bytes(), "").problem is None
    ask(path, cache, rules=RulesSource(rules))
    ask(path, cache, rules=RulesSource(rules))
    assert asked == ["one"] * 2
    with monkeypatch.context() as patched:
        patched.setattr(stored_answers, "program_version", lambda: "of another day")
        ask(path, cache)
    assert asked == ["one"] * 3
    write_trace(path, ("aten::relu",))
    assert ask(path, cache) == ["aten::relu"]
    assert asked == ["one"] * 4


def answers(cache: CacheFolder) -> list[Path]:
    """The files of the answers that are stored."""
    return [file for file in cache.root.rglob("answer") if file.is_file()]


def test_one_that_is_damaged_is_computed_again(
    path: Path, tmp_path: Path, asked: list[str]
) -> None:
    cache = CacheFolder(tmp_path / "cache")
    ask(path, cache)
    (file,) = answers(cache)
    file.write_bytes(file.read_bytes()[:-1] + b"\x00")
    assert ask(path, cache) == ["aten::mm", "aten::add"]
    assert ask(path, cache) == ["aten::mm", "aten::add"]
    assert asked == ["one"] * 2
    (file,) = answers(cache)
    file.unlink()
    assert ask(path, cache) == ["aten::mm", "aten::add"]
    assert asked == ["one"] * 3


def test_what_is_short_to_compute_or_long_to_store_is_not_kept(
    path: Path, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CacheFolder(tmp_path / "cache")
    with monkeypatch.context() as patched:
        patched.setattr(stored_views, "LONG_S", 1000.0)
        ask(path, cache)
    with monkeypatch.context() as patched:
        patched.setattr(stored_answers, "MAX_BYTES", 100)
        ask(path, cache)
    assert asked == ["one"] * 2
    assert answers(cache) == []


def test_nothing_is_kept_where_the_trace_is_not(
    path: Path, tmp_path: Path, asked: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("no folder")
    cache = CacheFolder(tmp_path / "cache")
    for _ in range(2):
        assert ask(path, cache) == ["aten::mm", "aten::add"]
    assert asked == ["one"] * 2
    assert {record.getMessage().partition(" in ")[0] for record in caplog.records} == {
        "the parsed trace is not cached"
    }


def test_answers_stay_on_this_machine(path: Path, tmp_path: Path, asked: list[str]) -> None:
    uploaded: list[str] = []

    class Shared(CacheFolder):
        def store(self, key: str, write: Callable[[Path], object]) -> bool:
            uploaded.append(key)
            return super().store(key, write)

    cache = Shared(tmp_path / "cache")
    ask(path, cache)
    ask(path, cache)
    assert asked == ["one"]
    assert len(uploaded) == 1  # the trace


def test_the_version_of_the_program_changes_with_each_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_answers, "PACKAGE_FOLDER", str(tmp_path))
    rules = tmp_path / "torch_tb_profiler" / "knowledge" / "rules.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text("a = 1")
    # functools.wraps shows what ``once`` holds
    version = stored_answers.program_version.__wrapped__  # type: ignore[attr-defined]
    first = version()
    assert version() == first
    os.utime(rules, (1, 1))
    second = version()
    rules.with_name("more.py").write_text("")
    compiled = rules.parent / "__pycache__"
    compiled.mkdir()
    third = version()
    (compiled / "more.pyc").write_text("")
    (rules.parent / ".#gone.py").symlink_to("nowhere")
    assert len({first, second, third}) == 3
    assert version() == third
