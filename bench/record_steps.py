"""A program for ``record.py``: trains in blocks, each recorded otherwise; prints its step times.

    python bench/record_steps.py --step-ms 5 --workers 0 --rounds 8 --folder /tmp/x

One process does all, in turns that change from round to round: what distinguishes processes (where
memory lies, which core) and what drifts (heat, neighbours) is in every variant alike. A step's time
is from one batch to the next by ``perf_counter_ns``, the first ones of a block left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from torch_tb_profiler.recorder import session
from torch_tb_profiler.recorder.options import Options

VARIANTS = ("without", "timer", "samples")
FEATURES = 64
BLOCK_S = 0.2
"""What a block lasts, at least."""

MIN_STEPS, LEFT_OUT = 12, 4
LAYERS = ((2.0, 8), (10.0, 24), (50.0, 60), (float("inf"), 120))
"""Steps up to so many ms → layers, about as many as models have that take so long."""


class Rows:
    """Batches, ready made: what is measured is not the making."""

    def __init__(self, batches: int, rows: int) -> None:
        self._batch = torch.randn(rows, FEATURES)
        self._batches = batches

    def __len__(self) -> int:
        return self._batches

    def __getitem__(self, _index: int) -> Tensor:
        return self._batch


class Training:
    """A net whose step takes about as long as asked."""

    def __init__(self, step_ms: float, workers: int) -> None:
        layers = next(count for limit, count in LAYERS if step_ms <= limit)
        parts = [nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.ReLU()) for _ in range(layers)]
        self._net = nn.Sequential(*parts)
        self._optimizer = torch.optim.SGD(self._net.parameters(), lr=1e-4)
        self._workers = workers
        self._rows = 8
        for _attempt in range(5):
            took_ms = median(self.times_ns(16)) / 1e6
            self._rows = max(1, min(1 << 16, round(self._rows * step_ms / took_ms)))
        self.steps = max(MIN_STEPS, round(BLOCK_S * 1000 / step_ms))

    def times_ns(self, steps: int) -> list[int]:
        """How long each of so many steps took."""
        rows = Rows(steps, self._rows)
        loader = DataLoader(rows, batch_size=None, num_workers=self._workers)
        times = [time.perf_counter_ns()]
        for batch in loader:
            loss = self._net(batch).square().mean()
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            times.append(time.perf_counter_ns())
        return [after - before for before, after in pairwise(times)][LEFT_OUT:]


def options_of(variant: str, folder: Path, steps: int) -> Options | None:
    """What a variant records; None: nothing."""
    if variant == "without":
        return None
    if variant == "profiler":
        return Options(str(folder), steps=(LEFT_OUT, steps - 2))
    every_ms = 100 if variant == "samples" else 0
    return Options(str(folder), timer_only=True, sample_every_ms=every_ms)


def block(training: Training, variant: str, folder: Path) -> list[int]:
    """Step times of one block."""
    options = options_of(variant, folder, training.steps)
    if options is not None and session.begin(options) is None:
        raise SystemExit("The recording did not begin.")
    try:
        return training.times_ns(training.steps)
    finally:
        session.end("stopped")


def main() -> None:
    """Train, and print ``[{variant, times_ns}]``, block by block."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--step-ms", type=float, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    training = Training(arguments.step_ms, arguments.workers)
    blocks = []
    for number in range(arguments.rounds):
        first = number % len(VARIANTS)
        for variant in VARIANTS[first:] + VARIANTS[:first]:
            folder = arguments.folder / f"{variant}{number}"
            blocks.append({"variant": variant, "times_ns": block(training, variant, folder)})
    folder = arguments.folder / "profiler"
    blocks.append({"variant": "profiler", "times_ns": block(training, "profiler", folder)})
    json.dump(blocks, sys.stdout)


if __name__ == "__main__":
    main()
