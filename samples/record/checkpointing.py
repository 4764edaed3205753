"""Records training steps with activation checkpointing, for ``tests/data/checkpointing``.

    python samples/record/checkpointing.py OUT

Needs torch (2.14.1 was used). Writes ``OUT/reentrant.json.gz`` and ``OUT/nonreentrant.json.gz``:
operators, modules and checkpointing's own Python frames, without the other frames, which make up
most of a recording.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

KEPT_FRAMES = ("nn.Module: ", "torch/utils/checkpoint.py")
KEPT_ARGUMENTS = (
    "Sequence number",
    "Fwd thread id",
    "Python id",
    "Python parent id",
    "Python module id",
)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.relu = nn.ReLU()
        self.down = nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.head = nn.Linear(8, 4)
        self.reentrant = reentrant

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return self.head(x)


def record(reentrant: bool) -> list[dict[str, Any]]:
    net = Net(reentrant)

    def step() -> None:
        net(torch.randn(4, 8)).sum().backward()

    step()
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
        step()
        step()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        return json.loads(Path(file.name).read_text())["traceEvents"]


def kept(event: dict[str, Any]) -> dict[str, Any] | None:
    is_frame = event.get("cat") == "python_function"
    if event.get("cat") != "cpu_op" and not (is_frame and event["name"].startswith(KEPT_FRAMES)):
        return None
    args = {key: event["args"][key] for key in KEPT_ARGUMENTS if key in event["args"]}
    return {**event, "pid": 1, "tid": 1, "args": args}


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for name, reentrant in (("reentrant", True), ("nonreentrant", False)):
        events = [event for event in map(kept, record(reentrant)) if event is not None]
        text = json.dumps({"schemaVersion": 1, "traceEvents": events})
        path = Path(sys.argv[1]) / f"{name}.json.gz"
        path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
