"""Kills processes (SIGKILL) at moments spread over their writing of the cache, and looks then.

``ingest``, ``report`` and ``serve`` write the entries of several traces; at each moment the command
or one of its worker processes is killed. Then a report must have the right numbers, without a
warning about broken entries, and what was left unfinished must be gone once it is old and somebody
writes again.

    python bench/kills.py                        50 moments of each command, some minutes
    python bench/kills.py --moments 3 --seed 7   a quick look
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fault_scene import (
    Scene,
    answered,
    awaited,
    descendants,
    has_no_crash,
    is_right,
    new_scene,
    serving,
)
from figures import SAFETY, Figure, add_options, tell

SAMPLES = ("h100_bert_small", "torch_compile_triton", "cpu_slowloader_nw0", "cpu_ddp4_gloo")
COMMANDS = ("ingest", "report", "serve")
POLL_S = 0.001
OLD_S = 7200
"""Older than what another process may still be writing."""
LIMIT_S = 120.0
PATIENCE_S = 0.3
LONGEST_ENTRY_S = 0.01


@dataclass
class Outcome:
    """What was seen of one command.

    Attributes:
        killed: Processes killed.
        in_the_middle: Of these, while an entry was unfinished.
        wrong: Readers afterwards that did not have the right numbers, or said more than those.
        left: Times that something unfinished stayed for ever.
    """

    killed: int = 0
    in_the_middle: int = 0
    wrong: int = 0
    left: int = 0


class Attack:
    """One command in a scene.

    Args:
        scene: With traces, and a cache of its own.
        command: One of :data:`COMMANDS`.
    """

    def __init__(self, scene: Scene, command: str) -> None:
        self._scene = scene
        self._command = command
        self._unfinished = scene.cache / "tmp"

    def writing_s(self) -> float:
        """How long it writes when nobody kills it."""
        process = self._begin()
        begun_s = time.monotonic()
        awaited(lambda: self._entries() >= self._expected, "the traces are in the cache")
        spent_s = time.monotonic() - begun_s
        self._end(process)
        return spent_s

    @property
    def _expected(self) -> int:
        """Traces that it writes: of each run one, or all of them."""
        files = list(self._scene.traces.rglob("*.json*"))
        return len({file.parent for file in files} if self._command == "serve" else files)

    def kill_after(self, seconds: float, chance: random.Random) -> bool:
        """Kill one of its processes so long after the first entry is begun, as soon as one is
        unfinished again; whether an unfinished entry is left."""
        shutil.rmtree(self._scene.cache, ignore_errors=True)
        process = self._begin()
        time.sleep(seconds)
        victim = chance.choice([process.pid, *descendants(process.pid)])
        pause_s = chance.random() * LONGEST_ENTRY_S
        self._await_unfinished(process, PATIENCE_S)
        time.sleep(pause_s)
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        is_left = _is_filled(self._unfinished)
        self._end(process)
        return is_left

    def check(self, truth: object) -> tuple[bool, bool]:
        """Whether the next reader is right, and whether what was left goes away."""
        try:
            ended = self._scene.report()
            is_right(ended, truth)
            assert "broken" not in ended.err, ended.err
        except AssertionError as error:
            print(f"{self._command}: {error}", file=sys.stderr)
            return False, True
        old_s = time.time() - OLD_S
        for path in (*self._unfinished.glob("*/*"), *self._unfinished.glob("*")):
            os.utime(path, (old_s, old_s))
        if _is_filled(self._unfinished):
            shutil.rmtree(
                self._scene.cache / "entries", ignore_errors=True
            )  # somebody writes again
            is_right(self._scene.report(), truth)
        return True, not _is_filled(self._unfinished)

    def _begin(self) -> subprocess.Popen[bytes]:
        """Start it; returns when it begins to write."""
        traces = str(self._scene.traces)
        words = {
            "ingest": ("ingest", traces),
            "report": ("report", traces, "--view", "overview", "--format", "json"),
            "serve": ("serve", traces, "--port", "0"),
        }[self._command]
        process = self._scene.begin(*words)
        if self._command == "serve":
            port = serving(process)
            for run in SAMPLES:
                threading.Thread(target=_ask, args=(port, run), daemon=True).start()
        self._await_unfinished(process, LIMIT_S)
        return process

    def _await_unfinished(self, process: subprocess.Popen[bytes], patience_s: float) -> None:
        """Wait for an unfinished entry, or the end of the process or of the patience."""
        give_up_s = time.monotonic() + patience_s
        while process.poll() is None and not _is_filled(self._unfinished):
            if time.monotonic() > give_up_s:
                return
            time.sleep(POLL_S)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if self._command == "serve":
            process.kill()
        _, err = process.communicate(timeout=LIMIT_S)
        has_no_crash(err.decode(errors="replace"))

    def _entries(self) -> int:
        """Finished traces: entries with the largest of their tables."""
        return len(list(self._scene.cache.glob("entries/*/*/slices.arrow")))


def _is_filled(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _ask(port: int, run: str) -> None:
    with suppress(AssertionError, ValueError):  # the server is killed meanwhile
        answered(port, f"view/overview?run={run}")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--moments", type=int, default=50, help="of each command")
    parser.add_argument("--seed", type=int, default=1)
    add_options(parser)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    figures: list[Figure] = []
    for command in COMMANDS:
        outcome = Outcome()
        with new_scene() as scene:
            for sample in SAMPLES:
                scene.add(sample)
            truth, attack = scene.truth(), Attack(scene, command)
            writing_s = attack.writing_s()
            for number in range(given.moments):
                moment_s = (number + chance.random()) / given.moments * writing_s
                outcome.in_the_middle += attack.kill_after(moment_s, chance)
                outcome.killed += 1
                is_right_after, is_gone = attack.check(truth)
                outcome.wrong += not is_right_after
                outcome.left += not is_gone
        figures += [
            Figure(f"{command}: kills within {writing_s:.2f} s of writing", outcome.killed, ""),
            Figure(f"{command}: with an unfinished entry", outcome.in_the_middle, ""),
            Figure(f"{command}: next reader wrong", outcome.wrong, "", 0),
            Figure(f"{command}: rest stays for ever", outcome.left, "", 0),
        ]
    tell("kills", f"seed {given.seed}", figures, given, SAFETY)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
