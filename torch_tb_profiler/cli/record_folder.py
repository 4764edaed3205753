"""The folder of a recorded run; in the temporary folder if the requested one cannot be written."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from msgspec import Struct

PROBE_BYTES = 1 << 20
"""Written as a test: a disk without this much space is full, any trace is larger."""

PROBE = ".torch-tb-profiler.probe"
STALE_S = 60.0
"""A journal not written to for this long belongs to an earlier run, or its program hangs."""

JOURNAL, FINISHED = ".record.jsonl", ".record.jsonl.gz"
STARTERS = frozenset({"torch.distributed.run", "torch.distributed.launch", "deepspeed"})
"""Launcher modules: the program is the one they start."""

MOST_RUNS = 10_000


class RunFolder(Struct, frozen=True):
    """The folder of a run.

    Attributes:
        path: Absolute path; None if nothing can be recorded.
        problem: Why it is not the requested one, as a sentence.
    """

    path: str | None
    problem: str | None = None


def program_name(command: Sequence[str]) -> str:
    """The name of the program in a command: its script or module, else the command itself."""
    module = None
    for before, word in pairwise(command):
        if before == "-m" and word not in STARTERS and not word.startswith("accelerate."):
            module = module or word
        elif word.endswith((".py", ".sh")):
            return module or os.path.basename(word)
    return module or os.path.basename(command[0])


def make_folder(output: str, name: str | None, program: str) -> RunFolder:
    """Create the folder of a run.

    Args:
        output: The folder of runs.
        name: Name of this run; None: the program's name with date and time.
        program: Name of the program.
    """
    stem = re.sub(r"[^\w.-]+", "-", program.removesuffix(".py")).strip(".-") or "program"
    chosen = name or f"{stem}_{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        return RunFolder(_create(os.path.abspath(output), chosen))
    except OSError as error:
        why = f"{os.path.join(output, chosen)} cannot be written: {error.strerror}."
    try:
        return RunFolder(_create(tempfile.mkdtemp(prefix="torch-tb-profiler-"), chosen), why)
    except OSError as error:
        return RunFolder(None, f"{why} Nor can {tempfile.gettempdir()}: {error.strerror}.")


def has_other_name(folder: RunFolder, name: str | None) -> bool:
    """Whether the folder has a name other than the requested one, which holds an earlier run."""
    return bool(name and folder.path and os.path.basename(folder.path) != name)


def remove_if_empty(folder: str) -> bool:
    """Remove a folder if it is empty, and a temporary folder that contains it."""
    try:
        os.rmdir(folder)
    except OSError:
        return False
    with suppress(OSError):
        if os.path.basename(os.path.dirname(folder)).startswith("torch-tb-profiler-"):
            os.rmdir(os.path.dirname(folder))
    return True


def _create(output: str, name: str) -> str:
    """Create the folder and test that it can be written to.

    Raises:
        OSError: it cannot be created or written to.
    """
    for number in range(1, MOST_RUNS):
        path = os.path.join(output, name if number == 1 else f"{name}-{number}")
        os.makedirs(path, exist_ok=True)
        if not _holds_earlier_run(path):
            break
    probe = f"{os.path.join(path, PROBE)}.{os.getpid()}"
    try:
        with open(probe, "wb") as file:
            file.write(bytes(PROBE_BYTES))
    except OSError:
        with suppress(OSError):
            os.unlink(probe)
        with suppress(OSError):
            os.rmdir(path)
        raise
    os.unlink(probe)
    return path


def _holds_earlier_run(path: str) -> bool:
    """Whether the folder holds files of a completed run. The launchers of one multi-node run start
    together and share a folder."""
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.endswith(FINISHED):
                return True
            if entry.name.endswith(JOURNAL) and time.time() - entry.stat().st_mtime > STALE_S:
                return True
    return False
