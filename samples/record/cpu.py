"""Records the CPU samples: a small ResNet with everything on, and a slow data loader.

    python samples/record/cpu.py OUT [resnet | slowloader0 | slowloader2 …]

Needs torch (2.13 was used). Writes ``OUT/<run>/<worker>.<time>.pt.trace.json.gz``; numbers differ
from machine to machine, which is why the recordings themselves are kept.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

SAMPLE_SECONDS = 0.004
BATCH = 8


class Block(nn.Module):
    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        inner = self.relu(self.first_norm(self.first(x)))
        return self.relu(self.second_norm(self.second(inner)) + self.shortcut(x))


class SmallResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        )
        self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.pool(self.blocks(self.stem(x))).flatten(1))


class Images(Dataset[tuple[Tensor, int]]):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 8 * BATCH

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        time.sleep(self.seconds)
        return torch.randn(3, 32, 32), index % 10


def record(
    folder: Path, worker: str, loader_workers: int, seconds: float, everything: bool
) -> None:
    model = SmallResNet()
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Images(seconds), batch_size=BATCH, num_workers=loader_workers)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=4, repeat=1),
        on_trace_ready=tensorboard_trace_handler(str(folder), worker, use_gzip=True),
        record_shapes=True,
        profile_memory=everything,
        with_stack=everything,
        with_modules=everything,
        with_flops=everything,
    ) as profiler:
        for images, labels in loader:
            loss = loss_function(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()


RUNS = {
    "resnet": lambda out: record(out / "cpu_resnet_full", "worker0", 0, 0.0, True),
    "slowloader0": lambda out: record(out / "cpu_slowloader_nw0", "nw0", 0, SAMPLE_SECONDS, False),
    "slowloader2": lambda out: record(out / "cpu_slowloader_nw2", "nw2", 2, SAMPLE_SECONDS, False),
}


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(2)
    out = Path(sys.argv[1])
    for name in sys.argv[2:] or RUNS:
        RUNS[name](out)


if __name__ == "__main__":
    main()
