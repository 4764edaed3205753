"""Record a small model that ``torch.compile`` compiles while it is recorded: a graph break, and
another batch size for which both halves are compiled again.

    python samples/record/compiled.py OUT    # tests/data/compiled, torch 2.13; needs a C++ compiler

Writes ``trace.json.gz``, without the operators that compiling runs on tensors that hold nothing,
and Inductor's provenance of the first half.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRATCH = Path(tempfile.mkdtemp(prefix="compiled-"))
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(SCRATCH / "cache")
os.environ["INDUCTOR_PROVENANCE"] = "1"

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.profiler import ProfilerActivity, profile, schedule  # noqa: E402

BATCHES = (4, 4, 6, 7)
PROVENANCE = "inductor_provenance_tracking_node_mappings.json"
DROPPED = ("PythonDispatchMode", "PythonSubclass", "aten::", "prims::", "detach", "pass.")
KEPT_KEYS = ("schemaVersion", "displayTimeUnit", "baseTimeNanoseconds")


class Model(nn.Module):
    """Two layers with a graph break between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.first(batch))
        torch._dynamo.graph_break()
        return torch.tanh(self.second(hidden))


def record(path: Path) -> None:
    """Write the trace of one call for each of :data:`BATCHES`."""
    model = torch.compile(Model())

    def keep(profiler: profile) -> None:
        profiler.export_chrome_trace(str(path))

    steps = schedule(wait=0, warmup=0, active=len(BATCHES), repeat=1)
    with (
        profile(activities=[ProfilerActivity.CPU], schedule=steps, on_trace_ready=keep) as profiler,
        torch.no_grad(),
    ):
        for size in BATCHES:
            model(torch.ones(size, 8))
            profiler.step()


def thinned(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace without what no test looks at, and without what tells of the machine."""
    events = [
        {key: value for key, value in event.items() if key != "args"} | {"args": _args(event)}
        for event in trace["traceEvents"]
        if not event["name"].startswith(DROPPED)
    ]
    return {key: trace[key] for key in KEPT_KEYS if key in trace} | {"traceEvents": events}


def _args(event: dict[str, Any]) -> dict[str, Any]:
    return event.get("args", {}) if event.get("ph") == "M" else {}


def main(folder: Path) -> None:
    """Record into a folder."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch._inductor.config.trace.enabled = True
    torch._inductor.config.trace.debug_dir = str(SCRATCH / "debug")
    record(SCRATCH / "trace.json")
    folder.mkdir(parents=True, exist_ok=True)
    trace = thinned(json.loads((SCRATCH / "trace.json").read_text()))
    with gzip.open(folder / "trace.json.gz", "wt") as file:
        json.dump(trace, file)
    first = min((SCRATCH / "debug").rglob(PROVENANCE))
    shutil.copy(first, folder / PROVENANCE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
