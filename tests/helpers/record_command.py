"""Records a program as a user does, by the command alone, and opens what is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_tb_profiler.api import OpenedTrace, open_trace

COMMAND = (
    sys.executable,
    "-c",
    "from torch_tb_profiler.cli import main, record_messages\n"
    "record_messages._print_verdict = lambda folder: None\n"
    "raise SystemExit(main())",
    "record",
)
"""The command without its verdict, which costs a second and is tested by itself."""

TIMEOUT_S = 300
MARK = "[record] "
"""What lines of the recorder begin with."""


@dataclass(frozen=True)
class Recording:
    """A program that was recorded.

    Attributes:
        done: How it ended and what it printed, the recorder's lines included.
        folder: The folder of its run; it need not be there.
        truth: What each rank of it knows of itself (``programs/truth.py``).
    """

    done: subprocess.CompletedProcess[str]
    folder: Path
    truth: tuple[dict[str, Any], ...]

    def open(self, worker: str | None = None, span: str | None = None) -> OpenedTrace:
        """What is left of it: the whole run, unless ``span`` names a window."""
        return open_trace(self.folder, worker=worker, span=span, cache=False)

    @property
    def stderr(self) -> str:
        """What the program itself wrote to stderr."""
        lines = self.done.stderr.splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(MARK))


def record(
    folder: Path, program: Sequence[str], *options: str, stdin: str | None = None
) -> Recording:
    """Record a program into ``folder/logs/run``."""
    output = ("--output", str(folder / "logs"), "--name", "run")
    done = run((*COMMAND, *output, *options, "--", *program), folder, stdin)
    truth = (json.loads(each.read_text()) for each in sorted(folder.glob("truth.json*")))
    return Recording(done, folder / "logs" / "run", tuple(truth))


def run(
    command: Sequence[str], folder: Path, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; programs write their truth to ``folder/truth.json``."""
    more = {"TRUTH": str(folder / "truth.json"), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        command,
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, **more},
        input=stdin or "",
        text=True,
        timeout=TIMEOUT_S,
    )
