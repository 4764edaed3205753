"""What an expert would cut real recordings by, had nobody marked their steps."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.helpers.traces import trace
from torch_tb_profiler.analysis.steps.iterations.key_nodes import best_key_node, key_nodes

LOADER = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"


@pytest.mark.parametrize(
    ("folder", "best", "calls"),
    [
        ("cpu_slowloader_nw0", LOADER.format("SingleProcess"), 4),
        ("cpu_slowloader_nw2", LOADER.format("MultiProcessing"), 4),
        ("cpu_ddp4_gloo", "Optimizer.zero_grad#SGD.zero_grad", 2),
        ("h100_bert_small", None, 0),  # one step: attention layers repeat, and are no iterations
        ("torch_compile_triton", None, 0),
    ],
)
def test_without_its_steps(samples: Path, folder: str, best: str | None, calls: int) -> None:
    file = sorted((samples / folder).glob("*.json.gz"))[0]
    content = json.loads(gzip.decompress(file.read_bytes()))
    events = [
        event
        for event in content["traceEvents"]
        if event.get("ph") == "X" and not event["name"].startswith("ProfilerStep#")
    ]
    recorded = trace(events)
    name, reason = best_key_node(recorded)
    assert name == best
    if best is not None:
        assert dict(key_nodes(recorded).select("name", "calls").iter_rows())[best] == calls
        assert reason.startswith("called every ")
