"""How answers look on the terminal: names of kernels, colours, rows of the table that was named,
and what limits the numbers in formats that have no place for it."""

from __future__ import annotations

import sys
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
def test_kernels_are_short_unless_asked_otherwise(run: Run, samples: Path, form: str) -> None:
    asked = ("report", samples / "h100_bert_small", "--view", "kernels", "--format", form)
    assert "void cutlass" not in run(*asked).out
    full = run(*asked, "--names", "recorded", "--columns", "name").out.replace("\\", "")
    assert RECORDED[:25] in full.replace("&lt;", "<")


@pytest.mark.parametrize("form", ["md", "table"])
def test_tables_without_a_column_asked_for_are_left_out(run: Run, samples: Path, form: str) -> None:
    asked = ("report", samples / "h100_bert_small", "--view", "kernels", "--format", form)
    done = run(*asked, "--columns", "name")
    assert done.code == 0
    assert "Tensor Core share" not in done.out


def test_the_limit_cuts_the_table_it_names(run: Run, samples: Path) -> None:
    asked = ("report", samples / "h100_bert_small", "--view", "overview", "--limit", "2")
    named = run(*asked, "--table", "top_kernels").out
    assert "Top kernels (2 of 10 rows)" in named
    assert "Top operators (10 rows)" in named
    assert "Average step (8 rows)" in named
    assert "Average step (2 of 8 rows)" in run(*asked).out


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
def test_colours_are_for_terminals(
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


def test_what_is_piped_or_written_has_no_colours(run: Run, samples: Path, tmp_path: Path) -> None:
    asked = ("report", samples / "h100_bert_small")
    assert "\x1b" not in run(*asked).out
    assert "\x1b[1m" in run(*asked, "--color", "always").out
    assert run(*asked, "--color", "always", "--output", tmp_path).code == 0
    assert "\x1b" not in next(tmp_path.iterdir()).read_text()


def test_what_limits_the_numbers_of_csv_is_told_beside(run: Run, samples: Path) -> None:
    asked = ("report", samples / "h100_bert_small", "--view", "kernels", "--table", "kernels")
    done = run(*asked, "--format", "csv")
    assert "Launches whose device event is not in the file. (22 times)" in done.err
    assert "Launches whose" not in done.out
