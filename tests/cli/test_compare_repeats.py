"""``compare --repeats`` and ``--summary``, as CI runs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from tests.cli.test_compare_gates import write

Run = Callable[..., Done]
GATE = "average_step.total_us>+5%"


def recordings(folder: Path, *lengths_us: int) -> Path:
    folder.mkdir()
    for number, length in enumerate(lengths_us):
        write(folder / f"run{number}.pt.trace.json.gz", mm_us=length)
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return recordings(tmp_path / "old", 100, 102, 98)


def test_a_slower_program_fails_the_gate(run: Run, tmp_path: Path, old: Path) -> None:
    new = recordings(tmp_path / "new", 151, 149, 150)
    done = run("compare", old, new, "--repeats", "--fail-on", GATE)
    assert done.code == 1
    assert "over 3 and 3 recordings" in done.err
    assert f"failed: {GATE}: Total:" in done.err


def test_noise_passes_though_one_pair_differs_by_more(run: Run, tmp_path: Path, old: Path) -> None:
    new = recordings(tmp_path / "new", 180, 60, 62)
    assert run("compare", old, new, "--fail-on", GATE).code == 1
    done = run("compare", old, new, "--repeats", "--fail-on", GATE)
    assert (done.code, f"passed: {GATE}" in done.err) == (0, True)


def test_a_single_recording_cannot_be_repeated(run: Run, tmp_path: Path, old: Path) -> None:
    new = write(tmp_path / "new.pt.trace.json.gz")
    done = run("compare", old, new, "--repeats")
    assert done.code == 2
    assert "holds 1" in done.err
    assert "Record the program several times" in done.err


def test_three_sides_are_refused(run: Run, old: Path) -> None:
    assert run("compare", old, old, old, "--repeats").code == 2


def test_the_summary_is_appended(run: Run, tmp_path: Path, old: Path) -> None:
    new = recordings(tmp_path / "new_<b>", 200, 201, 202)
    page = tmp_path / "page.md"
    page.write_text("before\n")
    done = run("compare", old, new, "--repeats", "--fail-on", GATE, "--summary", page)
    text = page.read_text()
    assert done.code == 1
    assert text.startswith("before\n### Performance: failed\n")
    assert "- failed: average\\_step" in text
    assert "| Total | 601.00 | 701.00 | 100.00 | 16.64 |" in text
    assert "<details><summary>Kernels that changed most</summary>" in text
    assert "<b>" not in text
    assert "Baseline" in done.out


def test_a_summary_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path, old: Path) -> None:
    done = run("compare", old, old, "--summary", tmp_path / "nowhere" / "page.md")
    assert done.code == 2
    assert "cannot be written" in done.err
