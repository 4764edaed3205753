"""A program that records itself with ``record``.

Cases: a block, two consecutive blocks in one folder, nested blocks, an exception, `sys.exit`,
a program without a file, invalid options.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch_tb_profiler  # noqa: E402
from torch_tb_profiler.recorder import session  # noqa: E402


def train(steps: int) -> None:
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()


def journal_of(folder: str) -> list[dict[str, Any]]:
    (path,) = Path(folder).glob("*.record.jsonl.gz")
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_a_with_block_is_recorded_and_finished(tmp_path: Path) -> None:
    with torch_tb_profiler.record(tmp_path / "run", steps=(1, 2), sample_every_ms=0) as run:
        train(1)
        written = [run.written_windows]
        train(4)
        written.append(run.written_windows)
    assert written == [0, 1]
    assert run.folder == str(tmp_path / "run")
    assert any(name.endswith(".pt.trace.json.gz") for name in run.files)
    assert "5 steps, 0 evaluation steps, 1 trace" in run.summary()
    blocks = journal_of(run.folder)
    assert blocks[-1]["reason"] == "exit"
    assert session.current() is None


def test_a_second_block_gets_another_folder(tmp_path: Path) -> None:
    folders = []
    for _ in range(3):
        options: dict[str, Any] = {"timer_only": True, "sample_every_ms": 0}
        with torch_tb_profiler.record(tmp_path / "run", **options) as run:
            train(2)
        folders.append(Path(run.folder).name)
        steps = [each for each in journal_of(run.folder) if each["kind"] == "steps"]
        assert [each["step"] for each in steps] == [[0, 1]]
    assert folders == ["run", "run-2", "run-3"]


def test_a_nested_block_does_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with torch_tb_profiler.record(tmp_path / "outer", timer_only=True, sample_every_ms=0):
        with torch_tb_profiler.record(tmp_path / "inner") as inner:
            train(2)
        assert session.current() is not None
        train(2)
    assert inner.folder == str(tmp_path / "outer")
    assert not (tmp_path / "inner").exists()
    assert capsys.readouterr().err.count("already being recorded") == 1
    steps = [each for each in journal_of(str(tmp_path / "outer")) if each["kind"] == "steps"]
    assert [each["step"] for each in steps] == [[0, 1, 2, 3]]


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(3)])
def test_exceptions_propagate(tmp_path: Path, error: BaseException) -> None:
    run = torch_tb_profiler.record(tmp_path, timer_only=True, sample_every_ms=0)

    def fail() -> None:
        with run:
            train(2)
            raise error

    with pytest.raises(type(error)) as raised:
        fail()
    assert raised.value is error
    assert journal_of(run.folder)[-1]["reason"] == f"exception {type(error).__name__}"


def test_a_program_without_a_file(tmp_path: Path) -> None:
    text = (
        "import torch_tb_profiler\n"
        f"with torch_tb_profiler.record({str(tmp_path)!r}, timer_only=True) as run:\n"
        "    import torch\n"
        "    torch.nn.Linear(4, 1)(torch.ones(2, 4))\n"
        "print(run.summary())\n"
    )
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert "1 step," in ran.stdout
    assert ran.stderr == ""
    assert journal_of(str(tmp_path))[0]["program"] == "notebook"


@pytest.mark.parametrize(
    "options",
    [{"steps": (5, 3)}, {"steps": (-1, 3)}, {"delay_s": -1.0}, {"duration_s": float("nan")}],
)
def test_invalid_options(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not"):
        torch_tb_profiler.record(tmp_path, **options)
