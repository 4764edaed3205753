"""Cases: a file that is replaced right after it was read leaves trace and summary under its old
state, and the new file gets its own; ingesting does the same; a file that never stops changing is
an error. The file's filesystem replaces it, between two requests."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec import AbstractFileSystem

from tests.helpers.opening import open_file
from torch_tb_profiler.knowledge.user_rules import NO_RULES
from torch_tb_profiler.loading.ingest.job import Job, ingest_file, read_summary
from torch_tb_profiler.loading.opening.open_file import cached_trace, wait_until_cached
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import FileState, Location, file_state

Writer = Callable[..., Path]


class Replacing(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """One file, which becomes the next of ``contents`` when its state was told after it was read;
    with ``restless`` whenever it was read."""

    cachable = False

    def __init__(self, contents: list[bytes], *, restless: bool = False) -> None:
        super().__init__()
        self._contents, self._restless = contents, restless
        self._version, self._was_read = 0, False

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        size = len(self._contents[self._version])
        told = {"name": path, "type": "file", "size": size, "etag": f"version {self._version}"}
        if self._was_read:
            self._replace()
        return told

    def open(self, _path: str, *_arguments: Any, **_options: Any) -> io.BytesIO:
        stream = io.BytesIO(self._contents[self._version])
        self._was_read = True
        if self._restless:
            self._replace()
        return stream

    def _replace(self) -> None:
        self._was_read = False
        self._version = min(self._version + 1, len(self._contents) - 1)

    @property
    def location(self) -> Location:
        return Location("replacing://w.1.pt.trace.json", "/w.1.pt.trace.json", self)


@pytest.fixture(name="contents")
def versions_of_a_file(tmp_path: Path, write_trace: Writer) -> list[bytes]:
    files = (write_trace(tmp_path / f"{n}.json", ("a",) * n) for n in range(1, 8))
    return [file.read_bytes() for file in files]


def ends_ns(location: Location, state: FileState, cache: CacheFolder) -> int:
    """End of the recording that the summary kept for ``state`` tells of."""
    summary = read_summary(location, state, cache, NO_RULES)
    assert summary is not None
    return summary.meta.end_ns


@pytest.mark.parametrize("way", ["open", "ingest"])
def test_a_summary_is_stored_under_the_state_of_its_file(
    tmp_path: Path, contents: list[bytes], way: str
) -> None:
    location, cache = Replacing(contents[:2]).location, CacheFolder(tmp_path / "cache")
    found = file_state(location)
    parser = Parser(1)
    if way == "open":
        old = parser.open(location, found, cache=cache, part="summary").state
    else:
        done = parser.ingest(location, found, cache)
        assert done.is_cached
        assert done.state is not None
        old = done.state
    wait_until_cached()
    new = file_state(location)
    assert found == old != new
    assert ends_ns(location, old, cache) == 10_000
    assert read_summary(location, new, cache, NO_RULES) is None
    assert cached_trace(location, new, cache) is None
    summary = parser.open(location, cache=cache, part="summary")
    assert summary.state == new
    assert summary.trace.meta.end_ns == 30_000
    assert ends_ns(location, new, cache) == 30_000
    assert open_file(location, cache=cache).slices.height == 2


def test_a_file_that_never_stops_changing_is_an_error(
    tmp_path: Path, contents: list[bytes]
) -> None:
    location = Replacing(contents, restless=True).location
    done = ingest_file(Job(location, file_state(location), CacheFolder(tmp_path / "cache")))
    assert done.problem is not None
    assert done.problem.code == "changed"
    assert not list((tmp_path / "cache" / "entries").glob("*/*"))
