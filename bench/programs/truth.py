"""What a program of ``record_programs.py`` knows of itself: its training steps by its own clock.

A step is given by two instants: it has begun, and it has not ended yet. So the recorded end lies
between the second and the first of the next step, however slow the machine is. Written to a file
per process in the folder ``TRUTH``; without that nothing is written.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import time

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

torch.set_num_threads(1)
FEATURES = 24


class Truth:
    """The steps of this process."""

    def __init__(self) -> None:
        self._steps: list[list[int | None]] = []
        self._pid = os.getpid()
        atexit.register(self.save)

    def begin(self) -> None:
        """A step has begun: its batch is there."""
        self._steps.append([time.time_ns(), None])

    def closing(self) -> None:
        """The current step has not ended yet: its last call is next."""
        self._steps[-1][1] = time.time_ns()

    def save(self) -> None:
        """Write them, in the process that has taken them; it may become another program."""
        folder = os.environ.get("TRUTH")
        if folder and os.getpid() == self._pid and self._steps:
            path = os.path.join(folder, f"{self._steps[0][0]}.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"pid": self._pid, "steps": self._steps, "ended": time.time_ns()}, file)


class Net(nn.Module):
    """Two layers."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, rows: Tensor) -> Tensor:
        out: Tensor = self.layers(rows)
        return out


class Rows(Dataset[Tensor]):
    """Rows of random numbers."""

    def __init__(self, count: int) -> None:
        self._rows = torch.randn(count, FEATURES)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Tensor:
        return self._rows[index]


def loss_of(net: nn.Module, rows: Tensor) -> Tensor:
    """How far the net is from the sum of each row."""
    return nn.functional.mse_loss(net(rows).squeeze(-1), rows.sum(-1))


def train(truth: Truth, steps: int, net: nn.Module | None = None) -> float:
    """Train without a data loader; the last loss."""
    net = Net() if net is None else net
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    loss = torch.zeros(())
    for _ in range(steps):
        rows = torch.randn(16, FEATURES)
        truth.begin()
        loss = loss_of(net, rows)
        optimizer.zero_grad()
        loss.backward()
        truth.closing()
        optimizer.step()
    return float(loss.detach())


def say(*words: object) -> None:
    """Print words and the state of both random generators: who draws from them is seen."""
    print(*words, f"{torch.rand(()).item():.9f} {random.random():.9f}", flush=True)


def seeded(seed: int) -> random.Random:
    """Seed all generators; the sizes of a program come from the returned one."""
    torch.manual_seed(seed)
    random.seed(seed)
    return random.Random(seed)
