"""Recordings of five formats whose caches are damaged.

Run as a program it plays the damages that are read from stdin, one per line of JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import make_pftrace
from cache_damages import Case, Scene
from make_formats import paddle
from make_nsys import nsys_database
from snapshot import write_snapshot

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("folder", "bucket", "signed bucket")


def _sample(name: str, ranks: int, folder: Path) -> None:
    for file in sorted((ROOT / "samples" / name).glob("*.json*"))[:ranks]:
        shutil.copy(file, folder)


def _nsys(folder: Path) -> None:
    shutil.copy(nsys_database(300, graphs=True), folder)


def _pftrace(folder: Path) -> None:
    make_pftrace.write(folder / "a.pftrace", 900)


def _paddle(folder: Path) -> None:
    shutil.copy(paddle(60), folder)


def _snapshot(folder: Path) -> None:
    write_snapshot(folder / "snapshot.pickle", 300_000)


RECORDINGS: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "torch_compile_triton": (partial(_sample, "torch_compile_triton", 1), PLACES),
    "h100_bert_small": (partial(_sample, "h100_bert_small", 1), PLACES),
    "cpu_slowloader_nw0": (partial(_sample, "cpu_slowloader_nw0", 1), PLACES),
    "cpu_ddp4_gloo": (partial(_sample, "cpu_ddp4_gloo", 2), PLACES),
    "nsys": (_nsys, PLACES[:1]),
    "pftrace": (_pftrace, PLACES[:1]),
    "paddle": (_paddle, PLACES[:1]),
    "snapshot": (_snapshot, PLACES[:1]),
}
"""Name → how it is made, and where its caches are; small ones, so that thousands of damages take
minutes."""


def scenes_in(folder: Path) -> dict[str, Scene]:
    """The scenes by name."""
    scenes = {}
    for recording, (_, places) in RECORDINGS.items():
        for place in places:
            name = f"{recording} {place}"
            scenes[name] = Scene(folder / name.replace(" ", "-"), place)
    return scenes


def work(folder: Path) -> None:
    """Play the cases that are read from stdin, one per line; write what came out."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    scenes = scenes_in(folder)
    for line in sys.stdin:
        case = Case(**json.loads(line))
        try:
            result: tuple[str, int] = scenes[case.scene].play(case)
        except BaseException as error:
            print(f"{case}: {type(error).__name__}: {error}", file=sys.stderr)
            result = ("failed", 0)
        print(json.dumps(result), file=answers)


if __name__ == "__main__":
    work(Path(sys.argv[1]))
