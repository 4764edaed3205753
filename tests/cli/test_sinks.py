"""Answers on the terminal: kernel names, colors, rows of the named table, and quality notes in
formats that have no place for them."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.cli.arguments import NAMES
from torch_tb_profiler.cli.sinks import wants_color
from torch_tb_profiler.views.name_columns import NameMode

Run = Callable[..., Done]
RECORDED = "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm"


def test_the_choices_are_those_of_the_columns() -> None:
    assert get_args(NameMode) == NAMES


@pytest.mark.parametrize("form", ["md", "table"])
def test_kernel_names_are_short_by_default(run: Run, samples: Path, form: str) -> None:
    requested = ("report", samples / "h100_bert_small", "--view", "kernels", "--format", form)
    assert "void cutlass" not in run(*requested).out
    full = run(*requested, "--names", "recorded", "--columns", "name").out.replace("\\", "")
    assert RECORDED[:25] in full.replace("&lt;", "<")


@pytest.mark.parametrize("form", ["md", "table"])
def test_tables_without_requested_columns_are_omitted(run: Run, samples: Path, form: str) -> None:
    requested = ("report", samples / "h100_bert_small", "--view", "kernels", "--format", form)
    done = run(*requested, "--columns", "name")
    assert done.code == 0
    assert "Tensor Core share" not in done.out


def test_the_limit_applies_to_the_named_table(run: Run, samples: Path) -> None:
    requested = ("report", samples / "h100_bert_small", "--view", "overview", "--limit", "2")
    named = run(*requested, "--table", "top_kernels").out
    assert "Top kernels (2 of 10 rows)" in named
    assert "Top operators (10 rows)" in named
    assert "Average step (8 rows)" in named
    assert "Average step (2 of 8 rows)" in run(*requested).out


@pytest.mark.parametrize(
    ("choice", "environment", "terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {}, True, False),
    ],
)
def test_colors_are_for_terminals(
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    environment: dict[str, str],
    terminal: bool,
    expected: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert wants_color(choice) is expected


def test_piped_and_written_output_has_no_colors(run: Run, samples: Path, tmp_path: Path) -> None:
    requested = ("report", samples / "h100_bert_small")
    assert "\x1b" not in run(*requested).out
    assert "\x1b[1m" in run(*requested, "--color", "always").out
    assert run(*requested, "--color", "always", "--output", tmp_path).code == 0
    assert "\x1b" not in next(tmp_path.iterdir()).read_text()


def test_quality_notes_of_csv_go_to_stderr(run: Run, samples: Path) -> None:
    requested = ("report", samples / "h100_bert_small", "--view", "kernels", "--table", "kernels")
    done = run(*requested, "--format", "csv")
    assert "Launches whose device event is not in the file. (22 times)" in done.err
    assert "Launches whose" not in done.out


def test_a_workbook_has_a_sheet_per_table_of_every_view(
    run: Callable[..., Done], resnet: Path, tmp_path: Path
) -> None:
    file = tmp_path / "tables.xlsx"
    done = run("report", resnet, "--view", "idle,copies", "--format", "xlsx", "--output", file)
    assert (done.code, done.err) == (0, f"{file}\n")
    with zipfile.ZipFile(file) as book:
        assert 'name="idle.streams"' in book.read("xl/workbook.xml").decode()
    again = run("report", resnet, "--format", "xlsx", "--output", file)
    assert again.code == 2
    assert "exists" in again.err


def test_without_the_library_the_error_says_what_to_install(
    run: Callable[..., Done], resnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch_tb_profiler.cli.xlsx_sink.find_spec", lambda _name: None)
    done = run("report", resnet, "--format", "xlsx", "--output", "t.xlsx")
    assert done.code == 2
    assert "pip install 'torch-tb-profiler[xlsx]'" in done.err
