"""The command line of ``nsys``, recorded by a fake ``nsys``, and its windows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.windows.nsys import NsysMissingError, NsysRun, nsys_command
from torch_tb_profiler.recorder.windows.window import RecordingWindow
from torch_tb_profiler.storage.detected_names import parse_detected_name

FAKE = """#!{python}
import json, os, subprocess, sys
json.dump(sys.argv[1:], open({arguments_file!r}, "w"))
program = [each for each in sys.argv[2:] if not each.startswith("--")]
sys.exit(subprocess.call(program))
"""


@pytest.fixture
def arguments_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a program named ``nsys`` that writes its arguments to this file."""
    arguments_file = tmp_path / "arguments.json"
    program = tmp_path / "bin" / "nsys"
    program.parent.mkdir()
    program.write_text(FAKE.format(python=sys.executable, arguments_file=str(arguments_file)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    return arguments_file


def options(**given: Any) -> Options:
    return Options(folder="/logs/run", program="train.py", nsys=True, **given)


def flags(command: list[str]) -> dict[str, str]:
    pairs = (each[2:].split("=", 1) for each in command if each.startswith("--"))
    return dict(pairs)


def test_the_program_keeps_its_exit_code_under_nsys(arguments_file: Path) -> None:
    command = nsys_command(options(), ["/bin/sh", "-c", "exit 3"])
    assert subprocess.run(command, check=False).returncode == 3
    first, *rest = json.loads(arguments_file.read_text())
    assert first == "profile"
    assert rest[-3:] == ["/bin/sh", "-c", "exit 3"]
    assert flags(rest)["export"] == "sqlite"
    assert flags(rest)["cuda-graph-trace"] == "node"
    assert set(flags(rest)["trace"].split(",")) >= {"cuda", "nvtx", "osrt", "cudnn", "cublas"}
    assert flags(rest)["output"] == "/logs/run/train"


@pytest.mark.parametrize(
    ("given", "capture"),
    [
        ({}, None),
        ({"steps": (5, 9)}, "stop"),
        ({"delay_s": 3.0}, "stop"),
        ({"wait": 1, "active": 3, "repeat": 2}, "repeat:2"),
        ({"active": 3, "repeat": 0}, "repeat"),
    ],
)
@pytest.mark.usefixtures("arguments_file")
def test_nsys_records_the_requested_windows(given: dict[str, Any], capture: str | None) -> None:
    """Nsight Systems' default at the end of a range would kill the program."""
    message = flags(nsys_command(options(**given), ["python", "train.py"]))
    assert message.get("capture-range-end") == capture
    assert message.get("capture-range") == ("cudaProfilerApi" if capture else None)


@pytest.mark.usefixtures("arguments_file")
def test_report_names_of_ranks_are_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "3")
    output = flags(nsys_command(options(), ["python", "train.py"]))["output"]
    assert output == "/logs/run/rank%q{SLURM_PROCID}"
    name = os.path.basename(output).replace("%q{SLURM_PROCID}", "3") + ".sqlite"
    assert parse_detected_name(name, (".sqlite",)).is_rank


@pytest.mark.usefixtures("arguments_file")
def test_mpi_is_traced_with_an_mpi_launcher() -> None:
    assert "mpi" in flags(nsys_command(options(), ["mpirun", "-n", "2", "a"]))["trace"]
    assert "mpi" not in flags(nsys_command(options(), ["torchrun", "a.py"]))["trace"]


@pytest.mark.usefixtures("arguments_file")
def test_percent_signs_in_the_folder_are_escaped() -> None:
    odd = Options(folder="/logs/50%h run", program="-x y.py", nsys=True)
    assert flags(nsys_command(odd, ["a"]))["output"] == "/logs/50%%h run/-x-y"


def test_missing_nsys_is_reported_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NsysMissingError, match=r"developer\.nvidia\.com"):
        nsys_command(options(), ["python", "train.py"])


def test_a_window_starts_and_stops_nsys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="CUDA"):
        NsysRun(options())
    calls: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: calls.append("synchronize"))
    monkeypatch.setattr(torch.cuda.profiler, "start", lambda: calls.append("start"))
    monkeypatch.setattr(torch.cuda.profiler, "stop", lambda: calls.append("stop"))
    monkeypatch.setattr(
        torch.autograd.profiler, "emit_nvtx",
        lambda record_shapes: SimpleNamespace(
            __enter__=lambda: calls.append(f"operators {record_shapes}"),
            __exit__=lambda *_: calls.append("no operators"),
        ),
    )  # fmt: skip
    run = NsysRun(options(shapes=True))
    run.prepare()
    run.record()
    run.begin_range("train", "ProfilerStep#5")
    run.stop()
    assert calls == ["start", "operators True", "no operators", "stop"]

    blocks: list[dict[str, Any]] = []
    session: Any = SimpleNamespace(
        options=Options(folder=str(tmp_path)),
        journal=SimpleNamespace(worker="rank0", write=blocks.append),
    )
    window = RecordingWindow(session, run)
    window.export()
    assert [block["state"] for block in blocks] == ["recording", "lost"]
    assert "Nsight" in blocks[-1]["reason"]
    assert list(tmp_path.iterdir()) == []
