"""Runs the command as a user does, in this process or in a separate one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.cli import main


@dataclass(frozen=True)
class Done:
    """Result of a command: exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Done]:
    """``run("report", path, …)`` in this process, with a separate cache folder."""
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))

    def run(*arguments: object) -> Done:
        code = main([str(argument) for argument in arguments])
        out, err = capsysbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return run


@pytest.fixture
def spawn(tmp_path: Path) -> Callable[..., Done]:
    """``spawn("report", path, …)`` in a separate process."""

    def spawn(*arguments: object, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "torch_tb_profiler", *map(str, arguments)],
            capture_output=True,
            check=False,
            env={**os.environ, "TORCH_TB_PROFILER_CACHE_DIR": str(tmp_path / "c"), **environment},
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return spawn


@pytest.fixture(scope="session")
def resnet(samples: Path) -> Path:
    """One real GPU trace."""
    return samples / "kineto_resnet50_nw0" / "worker0.1623143089861.pt.trace.json.gz"
