"""Cases: a local summary is loaded; a missing or damaged one, or one whose file no longer exists,
is left to parsing, without a request to a bucket; one no longer needed is not read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler.importers import trace_names
from torch_tb_profiler.knowledge.user_rules import NO_RULES
from torch_tb_profiler.loading.ingest.job import Job, ingest_file, summary_key
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.entry_loading import Absent, load_cached_summary
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile, file_as_span
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder


@pytest.fixture
def cache(tmp_path: Path) -> CacheFolder:
    return CacheFolder(tmp_path / "cache")


@pytest.fixture
def file(tmp_path: Path, write_trace: Callable[..., Path]) -> SpanFile:
    path = write_trace(tmp_path / "w.1.pt.trace.json", ("a", "b"))
    return file_as_span(open_location(str(path)), trace_names())


def entry_of(file: SpanFile) -> Entry:
    return Entry(file, "summary", 1000, may_be_cached=True)


def test_what_is_here_is_loaded(cache: CacheFolder, file: SpanFile) -> None:
    assert load_cached_summary(cache, entry_of(file)) is Absent.ABSENT
    ingest_file(Job(file.location, file.state, cache))
    result = load_cached_summary(cache, entry_of(file))
    assert isinstance(result, tuple)
    opened, memory = result
    assert opened.state == file.state
    assert opened.trace.meta.end_ns == 30_000
    assert memory.content_bytes > 0


def test_damaged_or_missing_summaries_are_left_to_parsing(
    cache: CacheFolder, file: SpanFile
) -> None:
    ingest_file(Job(file.location, file.state, cache))
    key = summary_key(file.location, file.state, NO_RULES)
    folder = cache.find(key)
    assert folder is not None
    (folder / "summary.msgpack").write_bytes(b"")
    assert load_cached_summary(cache, entry_of(file)) is Absent.ABSENT
    assert not cache.has_local(key)
    Path(file.location.path).unlink()
    assert load_cached_summary(cache, entry_of(file)) is Absent.ABSENT


def test_entries_no_longer_needed_are_not_read(cache: CacheFolder, file: SpanFile) -> None:
    entry = entry_of(file)
    entry.is_wanted = False
    assert load_cached_summary(cache, entry) is None


def test_no_request_is_sent_to_a_bucket(tmp_path: Path, file: SpanFile) -> None:
    bucket = open_location(f"memory://kept/{tmp_path.name}")
    there = SharedCacheFolder(bucket, tmp_path / "there")
    ingest_file(Job(file.location, file.state, there))
    assert there.holds(summary_key(file.location, file.state, NO_RULES))
    here = SharedCacheFolder(bucket, tmp_path / "here")
    assert load_cached_summary(here, entry_of(file)) is Absent.ABSENT
