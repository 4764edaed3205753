"""What the options of torch.profiler add to the size of a recording.

    python bench/recording_options.py

Twenty steps of a small transformer on the CPU, each option alone. Sizes are of the uncompressed
file per step; they do not depend on the load of the machine. Needs torch (2.13 was used).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

STEPS = 20
OPTIONS = ("record_shapes", "profile_memory", "with_stack")


def recorded_bytes(model: nn.Module, **options: Any) -> float:
    """Bytes of the recording of a step."""
    batch = torch.randn(2, 8, 32)
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        for _ in range(STEPS):
            model.zero_grad()
            model(batch).sum().backward()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return path.stat().st_size / STEPS


def main() -> None:
    """Print a line per option."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
    model = nn.TransformerEncoder(layer, 4)
    recorded_bytes(model)
    bare = recorded_bytes(model)
    print(f"no option: {bare:,.0f} bytes per step")
    for option in OPTIONS:
        print(f"{option}=True: {recorded_bytes(model, **{option: True}) / bare - 1:+.0%}")


if __name__ == "__main__":
    main()
