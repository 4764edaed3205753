"""Computation and communication against unions over the raw JSON, cut at the steps."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from tests.consistency.answers import Answers
from tests.consistency.quantities import per_step_parts
from tests.consistency.recordings import FILES, opened
from torch_tb_profiler.analysis.selection import Selection

Event = dict[str, Any]
COMMUNICATION, COMPUTATION = (f"{what}_us" for what in ("communication", "computation"))
GLOO = sorted(name for name in FILES if name.startswith("cpu_ddp4_gloo"))
NCCL = sorted(name for name in FILES if name.startswith("dlrm_8_ranks"))


def slices(name: str, wanted: Callable[[Event], bool]) -> list[tuple[float, float]]:
    """Start and end of the slices of a file that are wanted, in µs from its first slice."""
    document = json.loads(gzip.decompress(FILES[name].read_bytes()))
    events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    origin = min(float(event["ts"]) for event in events)
    starts = [(float(event["ts"]) - origin, event) for event in events if wanted(event)]
    return [(start, start + float(event["dur"])) for start, event in starts]


def covered(parts: list[tuple[float, float]], start: float, end: float) -> float:
    """How much of ``[start, end)`` the parts cover together."""
    total, reach = 0.0, start
    for low, high in sorted(parts):
        added = min(high, end) - max(low, reach)
        if added > 0:
            total, reach = total + added, min(high, end)
    return total


def steps_of(name: str) -> list[tuple[str, float, float]]:
    """The steps as the product stretches them, likewise."""
    trace = opened(name)
    edges = (pl.col("start_ns", "end_ns") - trace.meta.start_ns) / 1000
    return list(trace.steps.select("name", edges).iter_rows())


def is_kernel(event: Event) -> bool:
    return str(event.get("cat")).lower() == "kernel"


@pytest.mark.parametrize("name", GLOO)
def test_gloo_communicates_in_its_ranges(name: str) -> None:
    ranges = slices(name, lambda event: event["name"].startswith("gloo:"))
    shown = per_step_parts((COMMUNICATION, "overlap_us"))(Answers(opened(name), Selection()))
    truth = {step: covered(ranges, start, end) for step, start, end in steps_of(name)}
    assert shown == pytest.approx(truth, abs=0.01)


@pytest.mark.parametrize("name", NCCL)
def test_nccl_communicates_in_its_kernels_and_computation_is_all_others(name: str) -> None:
    moving = slices(name, lambda event: is_kernel(event) and "nccl" in event["name"].lower())
    others = slices(name, lambda event: is_kernel(event) and "nccl" not in event["name"].lower())
    answers = Answers(opened(name), Selection())
    for parts, keys in ((moving, (COMMUNICATION,)), (others, (COMPUTATION,))):
        shown = per_step_parts((*keys, "overlap_us"))(answers)
        truth = {step: covered(parts, start, end) for step, start, end in steps_of(name)}
        assert shown == pytest.approx(truth, abs=0.01)
