"""What the timer itself costs a step, in ns, less an empty loop.

    python bench/timer.py [--write]

``Timer``: a batch asked for, there, and the step ended; ``wrap`` around an iterable; and the part
of a recording that notes a batch and a step. Of so many rounds the fastest: what others do on the
machine is none of its cost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable

from figures import Figure, add_options, tell

from torch_tb_profiler import Timer
from torch_tb_profiler.recorder.events import TRAIN, StepRecord
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.throughput.step_timer import StepTimer

STEPS = 200_000
ROUNDS = 9
GOAL_NS = 1000


def by_hand() -> None:
    """The four calls of a program that times itself."""
    timer = Timer()
    timer.begin()
    for _ in range(STEPS):
        timer.before_reader()
        timer.after_reader()
        timer.step(32)


def wrapped() -> None:
    """The easy way."""
    for _ in Timer().wrap(range(STEPS)):
        pass


def recorded() -> None:
    """What the session's timer does; the journal is written by another thread."""
    with tempfile.TemporaryDirectory() as folder:
        part = StepTimer(Session(Options(folder)))
        step = StepRecord(0, TRAIN, "optimizer", 0, 1000)
        for _ in range(STEPS):
            part.batch_delivered(0, 500, 100, 32)
            part.step_ended(step)


def empty() -> None:
    """The loop alone."""
    for _ in range(STEPS):
        pass


def step_ns(run: Callable[[], None]) -> float:
    """What one of its steps takes."""
    began_ns = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - began_ns) / STEPS


def main() -> int:
    """Measure and print; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_options(parser)
    arguments = parser.parse_args()
    cases = {"Timer, by hand": by_hand, "Timer.wrap": wrapped, "timer of a recording": recorded}
    figures = []
    base_ns = min(step_ns(empty) for _ in range(ROUNDS))
    for name, run in cases.items():
        least_ns = min(step_ns(run) for _ in range(ROUNDS)) - base_ns
        figures.append(Figure(f"{name}, a step", round(least_ns), "ns", GOAL_NS))
    tell("timer", f"{ROUNDS} rounds of {STEPS:,} steps", figures, arguments)
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
