"""Scratch folders are deleted, also those that a killed process left a day ago; nothing else is."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from torch_tb_profiler.loading.processes.scratch import (
    ABANDONED_S,
    PREFIX,
    remove_abandoned,
    scratch_folder,
)


def aged(path: Path) -> Path:
    old_s = time.time() - ABANDONED_S - 60
    os.utime(path, (old_s, old_s), follow_symlinks=False)
    return path


def test_only_what_killed_processes_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned, in_use, young, alien, link = (
        tmp_path / name
        for name in (
            f"{PREFIX}abandone", f"{PREFIX}in__use_", f"{PREFIX}young___", "torch_tb_profiler-1000",
            f"{PREFIX}link____",
        )
    )  # fmt: skip
    for folder in (abandoned, in_use, young, alien):
        folder.mkdir()
        (folder / "signals").write_bytes(bytes(9))
        aged(folder / "signals")
        aged(folder)
    link.symlink_to(alien)
    aged(link)
    (in_use / "signals").touch()  # the worker reports its progress
    young.touch()
    remove_abandoned()
    assert set(tmp_path.iterdir()) == {in_use, young, alien, link}


def test_a_scratch_folder_is_deleted_whatever_happens() -> None:
    with suppress(ZeroDivisionError), scratch_folder() as folder:
        assert folder.is_dir()
        raise ZeroDivisionError
    assert not folder.exists()
