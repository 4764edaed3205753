"""``record``: contradicting options, unwritable folders, ends of programs, Ctrl-C, and messages if
nothing is recorded. Programs that train: ``tests/record``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.cli import record_folder, with_descending_sort
from torch_tb_profiler.cli.record_arguments import contradictions, parse_steps
from torch_tb_profiler.cli.record_folder import make_folder, program_name, remove_if_empty

Run = Callable[..., Done]
PYTHON = sys.executable
RECORD = (PYTHON, "-m", "torch_tb_profiler", "record")


@pytest.mark.parametrize(
    "options",
    [
        "--steps 1:2 --wait 1", "--steps 1:2 --trigger USR1", "--steps 3 --duration 1",
        "--duration 1 --active 2", "--timer-only --memory", "--timer-only --shapes",
        "--no-samples --sample-every 5", "--flops --no-shapes", "--stop-after --repeat 0",
        "--trigger USR1 --delay 1", "--with nsys --stacks", "--steps 5:4", "--steps 3,5",
        "--steps 1:", "--steps -1", "--wait -1", "--active 0", "--sample-every 9999999",
        "--delay nan", "--trigger TERM", "--name a/b", "--name ..", "--output s3://bucket/x",
        "--with vtune", "--no-such-option",
    ],
)  # fmt: skip
def test_contradictions_are_rejected_before_anything_runs(
    run: Run, options: str, tmp_path: Path
) -> None:
    done = run("record", *options.split(), "--", "touch", tmp_path / "ran")
    assert (done.code, done.out) == (2, "")
    assert "error: " in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "ran").exists()


def test_without_a_program_an_example_is_printed(run: Run) -> None:
    for words in ([], ["--"]):
        done = run("record", *words)
        assert done.code == 2
        assert "record -- python train.py" in done.err


def test_steps_are_read_as_a_range_with_both_ends() -> None:
    assert (parse_steps("5"), parse_steps("0:7")) == ((5, 5), (0, 7))
    assert parse_steps("0-7") == parse_steps("0..7") == (0, 7)


def test_arguments_of_the_program_are_unchanged() -> None:
    words = ["record", "--", "x", "--sort", "-calls"]
    assert with_descending_sort(words) == words
    assert with_descending_sort(words[2:]) == ["x", "--sort=-calls"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --config a.py", "train.py"),
        ("python -m pkg.train data.py", "pkg.train"),
        ("torchrun --nproc-per-node 2 dir/train.py", "train.py"),
        ("python -m torch.distributed.run --standalone train.py", "train.py"),
        ("accelerate launch train.py", "train.py"),
        ("./run", "run"),
        ("bash go.sh", "go.sh"),
    ],
)
def test_a_run_is_named_after_its_program(command: str, name: str) -> None:
    assert program_name(command.split()) == name


def test_a_run_of_the_same_name_gets_another_folder(tmp_path: Path) -> None:
    first = make_folder(str(tmp_path), "run", "x.py").path
    assert first == str(tmp_path / "run")
    journal = tmp_path / "run" / "rank1.record.jsonl"  # of a process of the same run
    journal.write_text("")
    assert make_folder(str(tmp_path), "run", "x.py").path == first
    os.utime(journal, (0, 0))
    assert make_folder(str(tmp_path), "run", "x.py").path == f"{first}-2"
    (tmp_path / "run-2" / "rank0.record.jsonl.gz").write_text("")
    assert make_folder(str(tmp_path), "run", "x.py").path == f"{first}-3"


@pytest.mark.parametrize("obstacle", ["file", "full"])
def test_an_unwritable_folder_is_replaced(
    obstacle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    output = tmp_path / "logs"
    if obstacle == "file":
        output.write_text("")
    else:
        monkeypatch.setattr(record_folder, "PROBE_BYTES", 10)
        resource = pytest.importorskip("resource")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5, hard))
    try:
        folder = make_folder(str(output), "run", "x.py")
    finally:
        if obstacle == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.problem is not None
    assert folder.problem.startswith(f"{output}/run cannot be written: ")
    if obstacle == "full":  # no other place takes anything either
        assert folder.path is None
        assert not output.exists() or not list(output.iterdir())
    else:
        assert folder.path is not None
        assert remove_if_empty(folder.path)
        assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize(
    ("program", "code", "message"),
    [
        (("sh", "-c", "exit 3"), 3, "no Python process loaded the recorder"),
        ((PYTHON, "-c", "import sys; sys.exit(4)"), 4, "no process imported torch"),
        (("sh", "-c", "kill -9 $$"), 137, "no Python process loaded the recorder"),
        (("no-such-command",), 127, "no-such-command: command not found"),
    ],
)
def test_the_exit_code_is_the_programs_and_empty_folders_are_removed(
    run: Run, tmp_path: Path, program: tuple[str, ...], code: int, message: str
) -> None:
    done = run("record", "--output", tmp_path / "logs", "--", *program)
    assert done.code == code
    assert message in done.err
    assert not list((tmp_path / "logs").glob("*"))


def test_missing_nsight_systems_is_reported_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("record", "--with", "nsys", "--output", tmp_path / "logs", "--", "true")
    assert done.code == 2
    assert "nsys is not on the PATH" in done.err
    assert not (tmp_path / "logs").exists()


def test_contradictions_name_only_existing_options(run: Run) -> None:
    from torch_tb_profiler.cli.arguments import make_parser  # noqa: PLC0415

    arguments = make_parser().parse_args(["record", "--", "true"])
    assert contradictions(arguments) == []


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_goes_to_the_program(tmp_path: Path, times: int) -> None:
    ready = tmp_path / "ready"
    program = (
        "import pathlib, signal, sys, time\n"
        "def end(*_):\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(.3); sys.exit(9)\n"
        f"signal.signal(signal.SIGINT, end); pathlib.Path({str(ready)!r}).touch(); time.sleep(30)"
    )
    command = subprocess.Popen(
        [*RECORD, "--output", tmp_path / "logs", "--", PYTHON, "-c", program],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _wait_for(ready)
    for _ in range(times):
        os.killpg(command.pid, signal.SIGINT)
        time.sleep(0.1)
    err = command.communicate(timeout=30)[1]
    assert command.returncode == 9
    assert "Nothing was recorded" in err


def test_a_shell_sees_the_signal_that_killed_the_program(tmp_path: Path) -> None:
    command = [*RECORD, "--output", str(tmp_path), "--", "sh", "-c", "kill -INT $$"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -signal.SIGINT


def _wait_for(path: Path) -> None:
    until_s = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until_s, "the program did not begin"
        time.sleep(0.01)
