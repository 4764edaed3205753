"""Cases: folder and limit by the environment, by platform, and for a user without a home."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.cache_location import default_cache_folder, user_cache_folder


def touch(folder: Path) -> None:
    (folder / "data").touch()


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_TB_PROFILER_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr("sys.platform", "linux")
    assert default_cache_folder() == Path("/somewhere/torch_tb_profiler")
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", "/elsewhere")
    assert default_cache_folder() == Path("/elsewhere")


def test_the_limit_can_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for value, limit in (("20", 20e9), ("0.5", 5e8), ("-1", 8 << 30), ("x", 8 << 30)):
        monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_GB", value)
        assert CacheFolder(tmp_path).max_bytes == limit
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_GB", "inf")
    assert CacheFolder(tmp_path).max_bytes > 1e18


def test_a_user_without_a_home_has_a_temporary_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where nothing names a home
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    folder = user_cache_folder()
    assert folder.parent == tmp_path
    assert CacheFolder(folder).store("k" * 40, touch)
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)  # somebody else was first
    assert not CacheFolder(user_cache_folder()).store(
        "k" * 40, lambda folder: (folder / "data").touch()
    )
