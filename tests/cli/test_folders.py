"""Folders on the command line: traces of any name are reported, other files are not, links out of
the folder only on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done

Run = Callable[..., Done]
Writer = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, write_trace: Writer) -> Path:
    logs = tmp_path / "logs"
    for name in ("exp/trace.json", "exp2/rank0.json", "exp2/rank1.json", "w.pt.trace.json"):
        write_trace(logs / name)
    (logs / "exp" / "config.json").write_text('{"model_type": "llama"}')
    write_trace(tmp_path / "outside.json")
    (logs / "link.json").symlink_to(tmp_path / "outside.json")
    return logs


def runs(done: Done) -> list[tuple[str, str]]:
    assert done.code == 0, done.err
    return [(answer["trace"]["run"], answer["trace"]["worker"]) for answer in done.json]


def test_a_folder_is_reported_with_every_trace_in_it(run: Run, folder: Path) -> None:
    done = run("report", folder, "--format", "json")
    expected = [("exp", "trace"), ("exp2", "rank0"), ("exp2", "rank1"), ("logs", "w")]
    assert runs(done) == expected
    followed = run("report", folder, "--format", "json", "--follow-links")
    assert runs(followed) == sorted([*expected, ("link", "link")])


def test_a_folder_of_other_files_says_what_they_are(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cell.json").write_text('{"nbformat": 4}')
    (tmp_path / "config.json").write_text("{}")
    done = run("report", tmp_path)
    assert done.code == 3
    assert "holds no trace" in done.err
    assert "cell.json is a Jupyter notebook" in done.err


def test_a_file_of_any_name_is_reported_when_it_is_named(run: Run, folder: Path) -> None:
    assert run("report", folder / "exp" / "trace.json", "--format", "json").code == 0
    assert run("report", folder / "link.json", "--format", "json").code == 0
