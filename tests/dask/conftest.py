"""A real Dask scheduler and workers, as processes on loopback; skips without the extra [dask]."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

WAIT_S = 60


@dataclass
class Cluster:
    """A scheduler's address and its workers."""

    folder: Path
    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60"]
        options += ["--local-directory", str(self.folder), "--host", "127.0.0.1"]
        log = (self.folder / f"worker{len(self.workers)}.log").open("wb")
        self.workers.append(_started([*command, *options], log))
        return self.workers[-1]

    def kill_a_worker(self) -> None:
        """``kill -9`` the first worker."""
        self.workers[0].send_signal(signal.SIGKILL)


def _started(command: list[str], log: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s"}
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler with two workers."""
    pytest.importorskip("distributed")
    folder = tmp_path / "dask"
    folder.mkdir()
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
    scheduler = _started([*command, *options], subprocess.PIPE)
    started = Cluster(folder, _address(scheduler), scheduler)
    try:
        started.add_worker()
        started.add_worker()
        yield started
    finally:
        for process in [*started.workers, scheduler]:
            process.kill()
        for process in [*started.workers, scheduler]:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)


def _address(scheduler: subprocess.Popen[bytes]) -> str:
    assert scheduler.stdout is not None
    for line in scheduler.stdout:
        found = re.search(rb"tcp://127\.0\.0\.1:\d+", line)
        if found:
            return found[0].decode()
    raise RuntimeError("the Dask scheduler did not start")
