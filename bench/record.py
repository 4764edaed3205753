"""What recording costs a program: its steps with and without, side by side.

    python bench/record.py [--short] [--step-ms 5 --workers 2] [--write]

For several lengths of step, and data loaders of no and two workers, ``record_steps.py`` trains in
blocks: without a recording, with the timer alone (``--timer-only --sample-every 0``), with samples
too (``--timer-only``), by turns. The figure is by how much the median step of a round's block is
longer than that of the round's block without; of all rounds the median, and how far the middle half
of them lies apart.
A block under the profiler comes last, for information. Needs a quiet machine: with more than half a
core busy it says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from figures import Figure, add_options, tell

PROGRAM = Path(__file__).with_name("record_steps.py")
GOALS = {"timer": 1.0, "samples": 2.0}
"""In percent."""

NAMES = {"timer": "timer only", "samples": "timer and samples"}
CASES = tuple((step_ms, workers) for step_ms in (1.0, 5.0, 20.0, 100.0) for workers in (0, 2))
SHORT_CASES = ((1.0, 0), (5.0, 2), (20.0, 0))
ROUNDS, SHORT_ROUNDS = 60, 20
BUSY_LOAD = 0.5


def measure(step_ms: float, workers: int, rounds: int) -> dict[str, list[list[int]]]:
    """Variant → step times (ns) of each of its blocks.

    Raises:
        subprocess.CalledProcessError: the program failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        chosen = {"step-ms": step_ms, "workers": workers, "rounds": rounds, "folder": folder}
        arguments = [f"--{name}={value}" for name, value in chosen.items()]
        command = [sys.executable, str(PROGRAM), *arguments]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    blocks: dict[str, list[list[int]]] = {}
    block: dict[str, Any]
    for block in json.loads(output):
        blocks.setdefault(block["variant"], []).append(block["times_ns"])
    return blocks


def step_figures(name: str, blocks: dict[str, list[list[int]]]) -> Iterator[Figure]:
    """The figures of one case."""
    without = blocks["without"]
    yield Figure(f"{name}: median step without", _middle_ms(without), "ms")
    for variant, goal in GOALS.items():
        added_pct = _added_pct(blocks[variant], without)
        low, _, high = quantiles(added_pct, n=4)
        yield Figure(f"{name}: {NAMES[variant]}", median(added_pct), "%", goal)
        yield Figure(f"{name}: {NAMES[variant]}, half of the rounds within", high - low, "%")
        added_us = (_least_ns(blocks[variant]) - _least_ns(without)) / 1e3
        yield Figure(f"{name}: {NAMES[variant]}, added to the quickest", added_us, "µs")
    profiled = median(blocks["profiler"][0]) / 1e6 / _middle_ms(without)
    yield Figure(f"{name}: in a window of the profiler", profiled, "×")


def _added_pct(blocks: list[list[int]], without: list[list[int]]) -> list[float]:
    pairs = zip(blocks, without, strict=True)
    return [(median(own) / median(base) - 1) * 100 for own, base in pairs]


def _least_ns(blocks: list[list[int]]) -> float:
    """The median of the quickest block: what others on the machine do only adds."""
    return min(median(block) for block in blocks)


def _middle_ms(blocks: list[list[int]]) -> float:
    return median(median(block) for block in blocks) / 1e6


def main() -> int:
    """Measure and print; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="three cases, within a minute")
    parser.add_argument("--step-ms", type=float, help="only steps of this length")
    parser.add_argument("--workers", type=int, default=0, help="with --step-ms (default: 0)")
    parser.add_argument("--rounds", type=int)
    add_options(parser)
    arguments = parser.parse_args()
    cases = SHORT_CASES if arguments.short else CASES
    if arguments.step_ms is not None:
        cases = ((arguments.step_ms, arguments.workers),)
    rounds = arguments.rounds or (SHORT_ROUNDS if arguments.short else ROUNDS)
    if os.getloadavg()[0] > BUSY_LOAD:
        print(f"The machine is busy: load {os.getloadavg()[0]:.2f}.", file=sys.stderr)
    figures: list[Figure] = []
    for step_ms, workers in cases:
        name = f"steps of {step_ms:g} ms, {workers} workers"
        figures += step_figures(name, measure(step_ms, workers, rounds))
    tell("record", f"{rounds} rounds of blocks of a fifth of a second", figures, arguments)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
