"""Notes of processes: the path in the options, lines of several processes, damaged lines."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from torch_tb_profiler.recorder import notes
from torch_tb_profiler.recorder.options import Options, from_json


def test_the_notes_path_is_part_of_valid_options(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(folder='/a "b', steps=(5, 9))
    text = notes.with_notes_path(options.to_json(), "/tmp/x y.notes")
    monkeypatch.setenv(notes.VARIABLE, text)
    assert notes.notes_path() == json.loads(text)["notes"] == "/tmp/x y.notes"
    assert from_json(text) == options


@pytest.mark.parametrize("path", ['/tmp/"', "/tmp/ü", "/tmp/\\"])
def test_a_path_that_json_would_escape_is_omitted(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(notes.VARIABLE, notes.with_notes_path(Options(folder="/a").to_json(), path))
    assert notes.notes_path() == ""


def test_notes_are_read_back_and_damaged_ones_skipped(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    notes.note(str(path), notes.PYTHON)
    assert not path.exists()
    path.write_text("python\tnobody\t\nhalf")
    with path.open("a") as file:
        file.write("\n")
    notes.note(str(path), notes.FAILED, "two\nlines\tof it")
    assert notes.read(str(path)) == [(notes.FAILED, os.getpid(), "two lines of it")]
