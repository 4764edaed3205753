"""The main command: version, help, start-up without heavy imports."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler import __version__
from torch_tb_profiler.cli import (
    _library_settings,
    main,
    report_command,
    with_descending_sort,
)
from torch_tb_profiler.cli.arguments import make_parser

Run = Callable[..., Done]


def test_version_and_help(run: Run) -> None:
    assert run("--version").out.startswith(f"torch-tb-profiler {__version__}\nKineto JSON is read ")
    assert "exit codes: 0 done" in run("--help").out
    for command in ("report", "compare", "serve", "views"):
        done = run(command, "--help")
        assert (done.code, done.err) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("command", [["views"], ["--version"], ["completion", "bash"]])
def test_a_full_disk_behind_stdout_is_a_reason(command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "torch_tb_profiler", *command],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(
        "torch-tb-profiler: error: The output cannot be written: No space"
    )
    assert done.stderr.count("\n") == 2


@pytest.mark.parametrize("module", ["torch_tb_profiler", "torch_tb_profiler.cli"])
def test_nothing_heavy_is_imported_before_the_arguments_are_parsed(module: str) -> None:
    code = (
        f"import sys, {module}; "
        "print([m for m in ('numpy', 'polars', 'werkzeug', 'fsspec', 'tensorboard', "
        "'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]"


def test_a_report_imports_no_server_and_no_cloud_client() -> None:
    code = (
        "import sys, torch_tb_profiler.cli.report_command; "
        "print([m for m in ('werkzeug', 'fsspec', 'tensorboard', 'pandas', 'asyncio') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[]"


def test_a_descending_sort_needs_no_equals_sign() -> None:
    assert with_descending_sort(["report", "x", "--sort", "-calls,name", "--limit", "3"]) == [
        "report", "x", "--sort=-calls,name", "--limit", "3",
    ]  # fmt: skip
    assert with_descending_sort(["--sort", "calls"]) == ["--sort", "calls"]


def test_an_interrupt_is_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(report_command, "run", interrupted)
    assert main(["report", "x"]) == 130
    assert capsys.readouterr().err == ""


def test_the_parser_of_one_command_is_that_of_all() -> None:
    def help_of(command: str, parser: argparse.ArgumentParser) -> str:
        (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        text: str = commands.choices[command].format_help()
        return text

    (commands,) = (a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert len(commands.choices) > 10
    for command in commands.choices:
        assert help_of(command, make_parser(command)) == help_of(command, make_parser())
        assert make_parser(command).prog == make_parser().prog
    assert make_parser("no_command").format_help() == make_parser().format_help()


def test_settings_of_libraries_are_for_their_import_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "narenas:1")
    before = dict(os.environ)
    with _library_settings("report"):
        assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
        assert os.environ["_RJEM_MALLOC_CONF"] == "narenas:1"  # what a user sets goes first
    assert dict(os.environ) == before
    monkeypatch.delenv("_RJEM_MALLOC_CONF")
    with _library_settings("report"):
        assert "dirty_decay_ms" in os.environ["_RJEM_MALLOC_CONF"]
    with _library_settings("serve"):
        assert "_RJEM_MALLOC_CONF" not in os.environ
    assert "_RJEM_MALLOC_CONF" not in os.environ
