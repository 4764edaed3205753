"""Damages cache entries at random, and opens their traces as a user does.

One bit of every file of the entries of recordings of five formats, then at random bits, bytes and
blocks of them (traces, summaries, seals) and of the objects of a cache in a bucket; files that are
cut, missing, added or taken from another entry. After each damage every view is asked through
``torch-tb-profiler report``, and compared with the answers of whole entries. Processes work in
batches, so that one that ends is seen.

    python bench/bit_flips.py --cases 2000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import cache_recordings
from cache_damages import DAMAGES, WEIGHTS, Case, Scene
from cache_recordings import RECORDINGS, scenes_in
from figures import SAFETY, Figure, add_options, tell

BATCH = 50
BATCH_LIMIT_S = 600.0
SHOWN = 20
"""Failures printed in full."""


def cases(count: int, seed: int, scenes: Sequence[str]) -> list[Case]:
    """So many damages, over all scenes; half of them of folders."""
    chance = random.Random(seed)
    weights = [2 if name.endswith(" folder") else 1 for name in scenes]
    return [
        Case(
            chance.choices(scenes, weights)[0],
            chance.choices(list(DAMAGES), WEIGHTS)[0],
            chance.randrange(2**31),
        )
        for _ in range(count)
    ]


def every_file(seed: int, scenes: Mapping[str, Scene]) -> list[Case]:
    """One flipped bit for each file of each cache."""
    chance = random.Random(seed)
    return [
        Case(name, "one bit", chance.randrange(2**31), number)
        for name, scene in scenes.items()
        for number in range(len(scene.files()))
    ]


def play_all(chosen: Sequence[Case], folder: Path) -> Iterator[tuple[Case, str, int]]:
    """Play cases in processes; one that ends in the middle has aborted at that case."""
    waiting = list(chosen)
    while waiting:
        batch = waiting[:BATCH]
        done = subprocess.run(
            [sys.executable, cache_recordings.__file__, str(folder)],
            input="".join(json.dumps(asdict(case)) + "\n" for case in batch),
            stdout=subprocess.PIPE, text=True, timeout=BATCH_LIMIT_S, check=False,
        )  # fmt: skip
        results = [json.loads(line) for line in done.stdout.splitlines()]
        for case, (outcome, broken) in zip(batch, results, strict=False):
            yield case, outcome, broken
        if len(results) < len(batch):
            yield batch[len(results)], "aborted", 0
        waiting = waiting[min(len(results) + 1, len(batch)) :]


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    add_options(parser)
    arguments = parser.parse_args()
    started_s = time.perf_counter()
    outcomes: Counter[str] = Counter()
    noticed = 0
    with tempfile.TemporaryDirectory(prefix="bit_flips-") as folder:
        scenes = scenes_in(Path(folder))
        for name, scene in scenes.items():
            scene.prepare(RECORDINGS[name.partition(" ")[0]][0])
        swept = every_file(arguments.seed, scenes)
        chosen = [*swept, *cases(arguments.cases, arguments.seed, list(scenes))]
        for number, (case, outcome, broken) in enumerate(play_all(chosen, Path(folder)), 1):
            outcomes[outcome] += 1
            noticed += broken > 0
            if outcome != "same" and number - outcomes["same"] <= SHOWN:
                print(f"{outcome}: {case}", flush=True)
            if number % 500 == 0:
                print(f"{number} of {len(chosen)}", flush=True)
    subject = f"{len(RECORDINGS)} recordings, {len(scenes)} caches, seed {arguments.seed}"
    figures = [
        Figure("files of cache entries, each with a bit flipped", len(swept), ""),
        Figure("damages", sum(outcomes.values()), ""),
        Figure("noticed (not: missing objects, equal files, bits of a gzip header)", noticed, ""),
        Figure("answers that changed", outcomes["changed"], "", goal=0),
        Figure("errors for the user", outcomes["failed"], "", goal=0),
        Figure("processes that ended", outcomes["aborted"], "", goal=0),
        Figure("time for all", time.perf_counter() - started_s, "s"),
    ]
    tell("bit-flips", subject, figures, arguments, SAFETY)
    return 0 if outcomes["same"] == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
