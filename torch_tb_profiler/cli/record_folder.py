"""Where a run is recorded: a folder of its own, or one for temporary files where that cannot be."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

PROBE_BYTES = 1 << 20
"""A disk that does not take so much is full: the journal of a short run is smaller, no trace is."""

PROBE = ".torch-tb-profiler.probe"
STALE_S = 60.0
"""A journal that nobody wrote to for so long is of an earlier run, or its program hangs."""

JOURNAL, FINISHED = ".record.jsonl", ".record.jsonl.gz"
STARTERS = frozenset({"torch.distributed.run", "torch.distributed.launch", "deepspeed"})
"""Modules that start the program that is meant."""

MOST_RUNS = 10_000


@dataclass(frozen=True)
class RunFolder:
    """Where a run is recorded.

    Attributes:
        path: Absolute; None where nothing can be recorded at all.
        problem: Why it is not where it should be, as a sentence.
    """

    path: str | None
    problem: str | None = None


def program_name(command: Sequence[str]) -> str:
    """The program that is meant by a command: its script or module, else the command itself."""
    module = None
    for before, word in pairwise(command):
        if before == "-m" and word not in STARTERS and not word.startswith("accelerate."):
            module = module or word
        elif word.endswith((".py", ".sh")):
            return module or os.path.basename(word)
    return module or os.path.basename(command[0])


def make_folder(output: str, name: str | None, program: str) -> RunFolder:
    """Make the folder of a run.

    Args:
        output: The folder of runs.
        name: Of this one, None for that of the program with date and time.
        program: What is recorded.
    """
    stem = re.sub(r"[^\w.-]+", "-", program.removesuffix(".py")).strip(".-") or "program"
    chosen = name or f"{stem}_{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        return RunFolder(_made(os.path.abspath(output), chosen))
    except OSError as error:
        why = f"{os.path.join(output, chosen)} cannot be written: {error.strerror}."
    try:
        return RunFolder(_made(tempfile.mkdtemp(prefix="torch-tb-profiler-"), chosen), why)
    except OSError as error:
        return RunFolder(None, f"{why} Nor can {tempfile.gettempdir()}: {error.strerror}.")


def is_named_anew(folder: RunFolder, name: str | None) -> bool:
    """Whether a folder has another name than was asked for, as that one holds an earlier run."""
    return bool(name and folder.path and os.path.basename(folder.path) != name)


def remove_if_empty(folder: str) -> bool:
    """Remove a folder, and one for temporary files around it, where nothing is in it."""
    try:
        os.rmdir(folder)
    except OSError:
        return False
    with suppress(OSError):
        if os.path.basename(os.path.dirname(folder)).startswith("torch-tb-profiler-"):
            os.rmdir(os.path.dirname(folder))
    return True


def _made(output: str, name: str) -> str:
    """The folder, made and tried.

    Raises:
        OSError: it cannot be made, or not be written to.
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
    """Whether a run that is over has left something; the launchers of one run, a node each, begin
    together and share a folder."""
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.endswith(FINISHED):
                return True
            if entry.name.endswith(JOURNAL) and time.time() - entry.stat().st_mtime > STALE_S:
                return True
    return False
