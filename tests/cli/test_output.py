"""Files of ``report`` and ``compare`` with ``--output``: none is lost, overwritten without
``--force``, or partially written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.cli.output import Output
from torch_tb_profiler.requests.errors import RequestError

Run = Callable[..., Done]
Write = Callable[..., Path]


@pytest.fixture
def trace(tmp_path: Path, write_trace: Write) -> Path:
    return write_trace(tmp_path / "logs" / "run" / "w.1.pt.trace.json")


def _operators(path: Path) -> set[Any]:
    return {row[0] for row in json.loads(path.read_bytes())["tables"]["operators"]["rows"]}


def test_equal_names_at_two_paths_are_two_files(
    run: Run, tmp_path: Path, write_trace: Write
) -> None:
    for day in ("monday", "tuesday"):
        write_trace(tmp_path / day / "run" / "w.1.pt.trace.json", (f"aten::{day}",))
    locations = [tmp_path / "monday" / "run", tmp_path / "tuesday" / "run"]
    arguments = ("--view", "operators", "--format", "json", "--output", tmp_path / "out")

    done = run("report", *locations, *arguments)

    assert done.code == 0, done.err
    assert sorted(os.listdir(tmp_path / "out")) == [
        "monday_run.run.w.1.operators.json",
        "tuesday_run.run.w.1.operators.json",
    ]
    for path in (tmp_path / "out").iterdir():
        assert _operators(path) == {f"aten::{path.name.partition('_')[0]}"}
        assert str(path) in done.err


def test_a_path_given_twice_is_two_files(run: Run, trace: Path, tmp_path: Path) -> None:
    done = run("report", trace, trace, "--format", "json", "--output", tmp_path / "out")
    assert done.code == 0
    assert len(list((tmp_path / "out").iterdir())) == 2


@pytest.mark.parametrize("kind", ["json", "md", "table", "csv"])
def test_an_existing_file_is_not_overwritten(
    run: Run, trace: Path, tmp_path: Path, kind: str
) -> None:
    arguments = ("report", trace, "--view", "operators,overview", "--format", kind)
    out = tmp_path / "out"
    assert run(*arguments, "--output", out).code == 0
    first = sorted(out.iterdir())
    first[-1].write_text("mine")
    for path in first[:-1]:
        path.unlink()

    refused = run(*arguments, "--output", out)

    assert refused.code == 2
    assert str(first[-1]) in refused.err
    assert "--force" in refused.err
    assert [path.read_text() for path in out.iterdir()] == ["mine"]

    forced = run(*arguments, "--output", out, "--force")
    assert forced.code == 0, forced.err
    assert sorted(out.iterdir()) == first
    assert first[-1].read_text() != "mine"


def test_nothing_is_computed_if_a_file_exists(run: Run, trace: Path, tmp_path: Path) -> None:
    trace.write_text("no trace at all")
    (tmp_path / "overview.json").write_text("mine")
    done = run("report", trace, "--format", "json", "--output", tmp_path)
    assert done.code == 2
    assert "overview.json exists" in done.err
    assert "no trace" not in done.err


def test_a_dangling_link_counts_as_existing(run: Run, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "overview.json").symlink_to(tmp_path / "elsewhere")
    assert run("report", trace, "--format", "json", "--output", out).code == 2
    assert run("report", trace, "--format", "json", "--output", out, "--force").code == 0
    assert not (out / "overview.json").is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def test_compare_does_not_overwrite_files(
    run: Run, trace: Path, tmp_path: Path, write_trace: Write
) -> None:
    other = write_trace(tmp_path / "other.json", ("aten::mm", "aten::add"))
    arguments = ("compare", trace, other, "--format", "csv", "--output", tmp_path / "out")
    assert run(*arguments).code == 0
    files = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert {path.name for path in files} >= {"compare.operators.csv", "compare.steps.csv"}

    refused = run(*arguments)

    assert (refused.code, "--force" in refused.err) == (2, True)
    assert run(*arguments, "--force").code == 0
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == files


def test_a_file_created_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    output = Output(str(tmp_path), may_replace=False)
    output.refuse_existing(["a.json"])
    (tmp_path / "a.json").write_text("somebody else's")
    with pytest.raises(RequestError, match="exists"):
        output.write("a.json", b"mine")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["somebody else's"]


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from torch_tb_profiler.cli import main
sys.exit(main())
"""


def test_a_failed_write_leaves_no_file(trace: Path, tmp_path: Path) -> None:
    """The limit of file sizes stands for a full disk: the write fails halfway."""
    out = tmp_path / "out"
    arguments = ["report", trace, "--view", "operators,overview", "--format", "json", "--no-cache"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, arguments), "--output", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f"{out} cannot be written: File too large." in done.stderr
    assert "Traceback" not in done.stderr
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("r.md", ("--format", "md")),
        ("r.TXT", ()),
        ("r.md", ("--format", "md", "--view", "operators")),
        ("r.json", ("--format", "json", "--view", "operators,overview")),
        ("r.csv", ("--format", "csv", "--view", "operators")),
    ],
)
def test_a_path_that_ends_as_the_format_is_one_file_with_what_is_printed(
    run: Run, trace: Path, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    requested = ("report", trace, *options)
    printed = run(*requested).out
    file = tmp_path / "out" / name

    assert run(*requested, "--output", file).code == 0
    assert file.read_bytes().decode().splitlines() == printed.splitlines()
    assert os.listdir(file.parent) == [name]

    file.write_text("mine")
    assert run(*requested, "--output", file).code == 2
    assert file.read_text() == "mine"
    assert run(*requested, "--output", file, "--force").code == 0
    assert file.read_bytes().decode().splitlines() == printed.splitlines()


def test_a_folder_that_is_named_like_a_file_stays_a_folder(
    run: Run, trace: Path, tmp_path: Path
) -> None:
    (tmp_path / "r.md").mkdir()
    assert run("report", trace, "--format", "md", "--output", tmp_path / "r.md").code == 0
    assert os.listdir(tmp_path / "r.md") == ["overview.md"]
