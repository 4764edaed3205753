"""Bandwidths of real runs against the raw JSON: what every call moved and how long its kernels (of
gloo its range) ran, added up by hand."""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict
from pathlib import Path

import pytest

from tests.helpers.traces import Event
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.views.distributed.view import distributed

BYTES = {"float": 4, "double": 8, "long int": 8, "long": 8, "int": 4, "unsigned char": 1}
FACTORS = {"all_reduce": 2, "all_to_all": 1}
"""Of NCCL tests, times (n - 1) / n; of all others here it is 1."""


def bytes_of(event: Event) -> int | None:
    """Of all tensors that go in; None where a size is not told."""
    args = event["args"]
    total = 0
    for dims, kind in zip(args.get("Input Dims", ()), args.get("Input type", ()), strict=False):
        if kind in BYTES:
            total += math.prod(dims) * BYTES[kind]
    return total or None


def inside(event: Event, around: Event) -> bool:
    """Whether it starts within the other, on its thread."""
    same = (event["pid"], event["tid"]) == (around["pid"], around["tid"])
    return same and around["ts"] <= event["ts"] <= around["ts"] + around["dur"]


def by_hand(events: list[Event], backend: str) -> dict[str, tuple[int, float]]:
    """Bytes and µs of the calls of each name that have both."""
    whole = [e for e in events if e.get("ph") == "X"]
    kernels = {e["args"]["correlation"]: e for e in whole if "ncclKernel" in e["name"]}
    launches = [
        e
        for e in whole
        if e.get("cat") in ("cuda_runtime", "cuda_driver")
        and e["args"].get("correlation") in kernels
    ]
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for event in whole:
        if event.get("cat") != "user_annotation" or not event["name"].startswith(f"{backend}:"):
            continue
        ran = [event]
        if backend == "nccl":
            own = [launch for launch in launches if inside(launch, event)]
            ran = [kernels[launch["args"]["correlation"]] for launch in own]
        size = bytes_of(event)
        if size is None or not ran:
            continue
        sums[event["name"]][0] += size
        sums[event["name"]][1] += max(e["ts"] + e["dur"] for e in ran) - min(e["ts"] for e in ran)
    return {name: (int(size), us) for name, (size, us) in sums.items()}


@pytest.mark.parametrize(
    ("folder", "backend", "ranks"), [("dlrm_8_ranks", "nccl", 8), ("cpu_ddp4_gloo", "gloo", 4)]
)
def test_bandwidths_are_those_of_the_raw_json(
    samples: Path, folder: str, backend: str, ranks: int
) -> None:
    traces, raw = {}, {}
    for path in sorted((samples / folder).glob("*.gz")):
        text, name = gzip.decompress(path.read_bytes()), path.name.split(".")[0]
        traces[name] = build_trace(read_text([text], name=path.name))
        raw[name] = json.loads(text, strict=False)["traceEvents"]
    table = distributed(traces, Selection()).tables["collectives"].frame
    compared = 0
    for worker, events in raw.items():
        for name, (size, us) in by_hand(events, backend).items():
            kind = name.partition(":")[2]
            (row,) = table.filter(worker=worker, name=name).to_dicts()
            assert row["total_bytes"] == size
            if kind in ("all_gather", "barrier") or row["calls"] != row["sized_calls"]:
                continue
            bandwidth = row["algorithm_bandwidth_gb_per_s"]
            assert bandwidth == pytest.approx(size / us / 1000, rel=1e-3)
            if row["group_size"] == ranks:
                factor = FACTORS[kind] * (ranks - 1) / ranks if kind in FACTORS else 1
                assert row["bus_bandwidth_gb_per_s"] == pytest.approx(bandwidth * factor)
            compared += 1
    assert compared >= 2 * len(raw)
