"""Programs in the environment of the recorder, with this and other interpreters: the end of
``import torch`` is detected in all cases, and nothing else changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torch_tb_profiler.recorder import launch, notes
from torch_tb_profiler.recorder.options import Options

GOOD, BAD = "import time\ntime.sleep(0.05)\nfrom . import nn\nready = True\n", "1 / 0\n"


class FakeEnvironment:
    """A folder with a fake torch, and the notes of the programs run there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"

    def torch(self, text: str) -> None:
        package = self.folder / "lib" / "torch"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(text)
        (package / "nn.py").write_text("")

    def run(
        self, program: str, *, is_recorded: bool = True, flags: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        own = {**os.environ, "PYTHONPATH": str(self.folder / "lib")}
        options = Options(folder=str(self.folder / "run"), sample_every_ms=0)
        variables = launch.environment(options if is_recorded else None, str(self.notes), own)
        self.notes.write_text("")
        (self.folder / "program.py").write_text(program)
        command = [sys.executable, *flags, "program.py"]
        return subprocess.run(
            command, env=variables, cwd=self.folder, capture_output=True, text=True, check=False
        )

    @property
    def events(self) -> list[str]:
        return [event for event, _, _ in notes.read(str(self.notes))]


@pytest.fixture
def fake(tmp_path: Path) -> FakeEnvironment:
    return FakeEnvironment(tmp_path)


@pytest.mark.parametrize(
    "program",
    [
        "import torch",
        "from torch import nn",
        "import torch.nn",
        "import importlib.util\nassert importlib.util.find_spec('torch')\nimport torch",
        "import threading\n"
        "def load():\n    import torch\n    assert torch.ready\n"
        "all = [threading.Thread(target=load) for _ in range(8)]\n"
        "[each.start() for each in all]\n[each.join() for each in all]",
    ],
)
def test_recording_starts_when_torch_is_imported(fake: FakeEnvironment, program: str) -> None:
    fake.torch(GOOD)
    more = "\nimport sys\nprint(type(sys.modules['torch'].__spec__), sys.path)"
    assert fake.run(program + more).stdout == fake.run(program + more, is_recorded=False).stdout
    done = fake.run(program + more)
    assert (done.returncode, done.stderr) == (0, "")
    assert fake.events == [notes.PYTHON, notes.TORCH]


def test_a_failing_import_of_torch_is_unchanged(fake: FakeEnvironment) -> None:
    fake.torch(BAD)
    program = "try:\n    import torch\nexcept ZeroDivisionError:\n    print(1)\nimport torch"
    recorded, plain = fake.run(program), fake.run(program, is_recorded=False)
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, plain.stderr)
    assert "ZeroDivisionError" in recorded.stderr
    fake.run(program)
    assert fake.events == [notes.PYTHON, notes.NO_TORCH, notes.NO_TORCH]


def test_a_programs_own_sitecustomize_still_runs(fake: FakeEnvironment) -> None:
    fake.torch(GOOD)
    for name in ("sitecustomize", "usercustomize"):
        (fake.folder / "lib" / f"{name}.py").write_text(f"print({name!r})")
    program = "import sitecustomize\nprint(sitecustomize.__file__)"
    plain, done = fake.run(program, is_recorded=False), fake.run(program)
    assert str(fake.folder / "lib" / "sitecustomize.py") in plain.stdout
    assert done.stdout == plain.stdout  # the user's runs outside of virtual environments only
    assert fake.events == [notes.PYTHON]


def test_a_program_without_sitecustomize_starts_silently(fake: FakeEnvironment) -> None:
    done = fake.run("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(2)'])")
    assert (done.stdout, done.stderr) == ("2\n", "")
    assert fake.events == [notes.PYTHON, notes.PYTHON]


@pytest.mark.parametrize("flag", ["-S", "-I", "-E"])
def test_python_flags_that_disable_the_recorder(fake: FakeEnvironment, flag: str) -> None:
    assert fake.run("print(1)", flags=(flag,)).stdout == "1\n"
    assert fake.events == []


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_other_interpreters_get_only_the_recorder(fake: FakeEnvironment, version: str) -> None:
    python = next(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), None)
    if python is None:
        pytest.skip(f"needs Python {version}")
    fake.torch(GOOD)
    program = (
        f"import os, sys\nif os.path.realpath(sys.executable) != os.path.realpath({str(python)!r}):"
        f"\n    os.execv({str(python)!r}, [{str(python)!r}, __file__])\nimport torch\n"
        "try:\n    import polars\nexcept ImportError:\n    print('hidden', torch.ready)"
    )
    done = fake.run(program)
    assert (done.stdout, done.stderr) == ("hidden True\n", "")
    is_old = version in ("3.8", "3.9")
    last = [notes.TOO_OLD] if is_old else [notes.PYTHON, notes.TORCH]
    assert fake.events == [notes.PYTHON, *last]
