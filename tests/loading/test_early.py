"""Helpers start early for a large file only, and the parser takes them over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torch_tb_profiler.loading import early
from torch_tb_profiler.loading.early import helper_executor, start_helpers


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    yield
    while early._started:
        early._started.pop().shutdown(wait=False)


def test_a_large_file_starts_helpers_and_they_are_taken_over_once(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(early.LARGE_BYTES)
    start_helpers([str(tmp_path / "large.json")], 2)
    (started,) = early._started
    assert started.submit(len, "abc").result(20) == 3
    assert helper_executor(1) is started
    assert helper_executor(1) is not started
    started.shutdown(wait=False)


def test_nothing_is_started_for_small_files_folders_urls_or_one_core(tmp_path: Path) -> None:
    (tmp_path / "small.json").write_bytes(b"[]")
    paths = [str(tmp_path / "small.json"), str(tmp_path), "s3://bucket/x.json", "missing"]
    start_helpers(paths, 8)
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(early.LARGE_BYTES)
    start_helpers([str(tmp_path / "large.json")], 1)
    assert not early._started
