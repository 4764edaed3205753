"""The rules of occupancy against what profilers wrote of real launches.

Cases: every launch of the V100 and H100 samples against Kineto's own estimate; what limits, by
hand; limits as recorded; a capability nobody knows.
"""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.knowledge.occupancy import block_residency, multiprocessor, recorded_limits

OPT_IN_BYTES = 48 << 10
"""For more shared memory than this a program must ask; Kineto writes 0 for such launches."""


@pytest.mark.parametrize("name", ["kineto_resnet50_nw0", "dlrm_8_ranks", "h100_bert_small"])
def test_estimates_agree_with_the_profiler(samples: Path, name: str) -> None:
    path = sorted((samples / name).glob("*.gz"))[0]
    with gzip.open(path) as file:
        recording = json.load(file)
    device = recording["deviceProperties"][0]
    holds = multiprocessor(f"{device['computeMajor']}.{device['computeMinor']}")
    assert holds is not None
    launches = {
        json.dumps(shape): event["args"]["est. achieved occupancy %"]
        for event in recording["traceEvents"]
        if str(event.get("cat")).lower() == "kernel"
        and (shape := launch(event["args"]))[3] <= OPT_IN_BYTES
    }
    assert len(launches) > 5
    for text, recorded_pct in launches.items():
        blocks, threads, registers, shared = json.loads(text)
        fits = block_residency(holds, threads, registers, shared)
        resident = min(fits.blocks, blocks / device["numSms"])
        assert resident * threads / holds.threads * 100 == pytest.approx(recorded_pct, abs=0.51)


def launch(args: dict[str, Any]) -> tuple[int, int, int, int]:
    """Blocks, threads of a block, registers of a thread, shared memory of a block."""
    blocks, threads = (math.prod(args[key]) for key in ("grid", "block"))
    return blocks, threads, args["registers per thread"], args["shared memory"]


@pytest.mark.parametrize(
    ("capability", "launched", "blocks", "limits"),
    [
        ("8.0", (256, 32, 0), 8, ("registers", "block size")),
        ("8.0", (256, 64, 0), 4, ("registers",)),
        ("8.0", (256, 255, 0), 1, ("registers",)),
        ("8.0", (128, 32, 80 << 10), 2, ("shared memory",)),
        ("8.0", (32, 32, 0), 32, ("block size",)),
        ("8.0", (1024, 24, 0), 2, ("registers", "block size")),
        ("8.0", (1024, 16, 0), 2, ("block size",)),
        ("8.6", (1024, 24, 0), 1, ("block size",)),
        ("9.0", (384, 168, 231_424), 1, ("registers", "shared memory")),
        ("7.5", (256, 0, 0), 4, ("block size",)),
        ("9.0", (1024, 255, 0), 0, ("registers",)),
    ],
)
def test_what_limits(
    capability: str, launched: tuple[int, int, int], blocks: int, limits: tuple[str, ...]
) -> None:
    """``launched``: threads of a block, registers of a thread, shared memory of a block."""
    holds = multiprocessor(capability)
    assert holds is not None
    resident = block_residency(holds, *launched)
    assert (resident.blocks, resident.limits) == (blocks, limits)


def test_limits_as_recorded() -> None:
    assert recorded_limits('["REGS", "SMEM"]') == ("registers", "shared memory")
    assert recorded_limits("WARPS, BLOCKS") == ("block size",)
    assert recorded_limits("MOON") == ("MOON",)
    assert recorded_limits("") == ()


def test_an_unknown_capability() -> None:
    assert multiprocessor("99.9") is None
