"""Findings that come after the tables: first without, then with them; both together are the answer
in one part. What is stored with the trace, short traces and other views come whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries import stored_views, views
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.reports.json import dumps
from torch_tb_profiler.requests.parameters import view_request
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.storage.cache_folder import CacheFolder

SAMPLE = Path(__file__).parents[3] / "samples" / "h100_bert_small"


def opened(cache: CacheFolder | None = None) -> Catalog:
    return Catalog(
        [TraceRoot(str(SAMPLE))], cache=cache, store=TraceStore(cache=cache, parser=Parser(1))
    )


def answer(catalog: Catalog, view: str = "overview", **parameters: str) -> ViewResult:
    return views.view_result(catalog, view_request(view, parameters), wait_s=None)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trace is a long one."""
    monkeypatch.setattr(views, "MANY_SLICES", 0)


@pytest.mark.usefixtures("many")
def test_tables_come_first_and_then_all() -> None:
    catalog = opened()
    early = answer(catalog, findings="later")
    assert early.view.findings_pending
    assert "checked" not in early.view.tables
    assert not [note for note in early.view.notes if note.kind == "advice"]
    whole = answer(catalog)
    assert [note for note in whole.view.notes if note.kind == "advice"]
    assert dumps(whole) == dumps(answer(opened()))
    for name, table in early.view.tables.items():
        assert table.frame.equals(whole.view.tables[name].frame)
    # What the findings need is computed now.
    assert dumps(answer(catalog, findings="later")) == dumps(whole)


@pytest.mark.parametrize("view", ["kernels", "overview"])
def test_what_is_quick_comes_whole(view: str) -> None:
    catalog = opened()
    result = answer(catalog, view, findings="later")
    assert not result.view.findings_pending
    assert dumps(result) == dumps(answer(catalog, view))


@pytest.mark.usefixtures("many")
def test_only_a_whole_answer_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_views, "LONG_S", -1.0)
    cache = CacheFolder(tmp_path)
    catalog = opened(cache)
    assert answer(catalog, findings="later").view.findings_pending
    wait_until_cached()
    assert answer(opened(cache), findings="later").view.findings_pending
    whole = answer(catalog)
    wait_until_cached()
    assert dumps(answer(opened(cache), findings="later")) == dumps(whole)
