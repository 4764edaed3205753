"""Traces are requested ahead of the tasks: each once, so many and no more, up to a run's view."""

from __future__ import annotations

from types import SimpleNamespace as Fake
from typing import Any

import pytest

from torch_tb_profiler.cli.prefetching import AHEAD_BYTES, AHEAD_FILES, Prefetcher


class _Folder:
    """A catalog with its store: every run has one trace."""

    def __init__(self, size_bytes: int = 100) -> None:
        self.store, self.files_at_once = self, 4
        self.requested: list[str] = []
        self._size_bytes = size_bytes

    def file(self, run: str, _worker: str, _span: str) -> Any:
        return Fake(location=Fake(url=run), state=Fake(size_bytes=self._size_bytes))

    def request(self, file: Any) -> None:
        self.requested.append(file.location.url)

    def tasks(self, runs: int, scopes: str) -> list[Any]:
        about = [
            Fake(subject=Fake(run=f"r{number}", worker="w", span="s")) for number in range(runs)
        ]
        return [
            Fake(catalog=self, request=each, spec=Fake(scope="run" if scope == "r" else "trace"))
            for each in about
            for scope in scopes
        ]


@pytest.mark.parametrize("scopes", ["t", "ttt", "tr", "rt"])
def test_each_trace_is_requested_once_and_before_its_task(scopes: str) -> None:
    folder = _Folder()
    tasks = folder.tasks(300, scopes)
    prefetcher = Prefetcher(tasks)
    for number, task in enumerate(tasks):
        prefetcher.advance(number)
        needs = task.spec.scope == "trace"
        assert not needs or task.request.subject.run in folder.requested
        ahead = len(folder.requested) - number // len(scopes)
        assert ahead <= AHEAD_FILES
    assert folder.requested == [f"r{number}" for number in range(300)]


def test_small_files_wait_in_any_number_and_large_ones_as_many_as_are_parsed_at_once() -> None:
    small, large = _Folder(), _Folder(AHEAD_BYTES)
    Prefetcher(small.tasks(300, "t")).advance(0)
    Prefetcher(large.tasks(300, "t")).advance(0)
    assert len(small.requested) == AHEAD_FILES
    assert len(large.requested) == large.files_at_once + 1


def test_a_view_of_a_run_requests_its_traces_itself() -> None:
    folder = _Folder()
    prefetcher = Prefetcher(folder.tasks(3, "tr"))
    prefetcher.advance(0)
    assert folder.requested == ["r0"]
    prefetcher.advance(2)
    assert folder.requested == ["r0", "r1"]
