"""``record --finish``: a run whose recorder was killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.recorder import Run, write_run
from torch_tb_profiler.cli import main


def test_the_run_of_a_killed_recorder_is_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = write_run(tmp_path, Run(steps=40, windows=((10, 14),), ended=None))
    os.utime(journal, (0, 0))  # of another machine: only its age shows that it ended
    assert main(["record", "--finish", str(tmp_path)]) == 0
    result = capsys.readouterr().err
    assert "a trace of steps 10 to 14; 40 steps timed" in result
    assert "ended by killed" in result
    assert {path.suffix for path in tmp_path.iterdir()} == {".gz", ".json"}


@pytest.mark.parametrize("name", ["", "none"])
def test_a_folder_without_a_run_is_reported(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", "--finish", str(tmp_path / name)]) == 2
    result = capsys.readouterr().err
    assert "has nothing to finish" in result or "cannot be read" in result
