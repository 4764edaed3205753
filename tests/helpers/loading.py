"""Datasets whose samples tell how long each stage took of them, and who made them.

A sample is a list of :data:`FIELDS`; a batch made by :func:`timed_batch` is one of their sums, with
its own time. What a recorder tells is compared with that.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

FIELDS = ("fetch_ns", "transform_ns", "collate_ns", "worker", "pid", "began_ns")
FETCH_S, TRANSFORM_S, COLLATE_S = 0.0025, 0.001, 0.004


def spend(seconds: float, *, burn: bool = False) -> int:
    """Sleep, or compute, for so long; nanoseconds that it took."""
    started = time.perf_counter_ns()
    if burn:
        while time.perf_counter_ns() - started < seconds * 1e9:
            pass
    else:
        time.sleep(seconds)
    return time.perf_counter_ns() - started


class Burning:
    """A transform that computes."""

    def __call__(self, sample: Any) -> Any:
        """Add its time to a sample."""
        sample[1] += spend(TRANSFORM_S, burn=True)
        return sample


def sleeping(sample: Any) -> Any:
    """A transform that sleeps."""
    sample[1] += spend(TRANSFORM_S)
    return sample


class Timed(Dataset):  # type: ignore[misc]  # torch has no types here
    """Samples of map style."""

    def __init__(self, samples: int, transform: Any = None) -> None:
        self.samples = samples
        self.transform = transform or Burning()

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Any:
        return self.transform(_sample())


class TimedStream(IterableDataset):  # type: ignore[misc]  # torch has no types here
    """Samples of iterable style; each worker makes as many."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.transform = sleeping

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self.samples):
            yield self.transform(_sample())


class Failing(Dataset):  # type: ignore[misc]  # torch has no types here
    """Its transform fails at a sample, or its worker dies there."""

    def __init__(self, at: int, *, dies: bool = False) -> None:
        self.at = at
        self.dies = dies
        self.transform = self.fail

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        return self.transform(index)

    def fail(self, index: int) -> Any:
        """Fail, or not."""
        if index == self.at:
            if self.dies:
                time.sleep(0.8)  # until what was made before is written
                os._exit(3)
            raise KeyError(f"no sample {index}")
        return torch.tensor(index)


def timed_batch(samples: list[list[int]]) -> list[int]:
    """A batch: the times of its samples summed, the other fields as the first has them."""
    started = time.perf_counter_ns()
    spend(COLLATE_S)
    sums = [sum(values) for values in zip(*samples, strict=True)]
    return [*sums[:2], time.perf_counter_ns() - started, *samples[0][3:]]


def _sample() -> list[int]:
    began = time.time_ns()
    fetched = spend(FETCH_S)
    info = get_worker_info()
    worker = -1 if info is None else info.id
    return [fetched, 0, 0, worker, os.getpid(), began]
