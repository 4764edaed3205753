"""The marked baseline of a log directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_tb_profiler.cli.baseline_mark import mark_baseline, marked_baseline
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.storage.cache_folder import CacheFolder


def test_a_candidate_has_the_mark_of_the_nearest_folder(tmp_path: Path) -> None:
    cache, logs = CacheFolder(tmp_path / "cache"), tmp_path / "logs"
    assert mark_baseline(cache, str(logs / "a")) == str(logs)
    mark_baseline(cache, str(logs / "deep" / "b"))
    assert marked_baseline(cache, str(logs / "c")) == str(logs / "a")
    assert marked_baseline(cache, f"{logs}/deep/c/") == str(logs / "deep" / "b")
    assert marked_baseline(cache, str(logs / "other" / "w.json")) == str(logs / "a")


def test_the_marked_run_itself_has_no_baseline_beside_it(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path / "cache")
    mark_baseline(cache, str(tmp_path / "a"))
    with pytest.raises(RequestError, match="No baseline is marked"):
        marked_baseline(cache, str(tmp_path / "a"))


def test_urls_have_folders_too(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    assert mark_baseline(cache, "s3://bucket/logs/a/") == "s3://bucket/logs"
    assert marked_baseline(cache, "s3://bucket/logs/b") == "s3://bucket/logs/a"
    with pytest.raises(RequestError):
        marked_baseline(cache, "s3://other/logs/b")


def test_a_damaged_file_is_no_mark_and_no_cache_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "baselines.json").write_text("[")
    with pytest.raises(RequestError):
        marked_baseline(CacheFolder(tmp_path), "/logs/a")
    with pytest.raises(RequestError, match="needs the cache folder"):
        mark_baseline(None, "/logs/a")
