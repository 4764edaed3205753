"""DistributedDataParallel sends buffers before every forward pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.detectors.scenes import context, finding, load, one_step
from tests.helpers.traces import Event, annotation, kernel
from torch_tb_profiler.detectors.buffer_broadcasts import detect

FORWARD = annotation("DistributedDataParallel.forward", 0, 400)


def broadcast(at: float, dur: float, elements: int | None = 100) -> Event:
    sized: dict[str, Any] = {"Input Dims": [[elements]], "Input type": ["float"]}
    return annotation("gloo:broadcast", at, dur, tid=2, **({} if elements is None else sized))


def test_the_gain_leaves_out_what_they_wait() -> None:
    events = [FORWARD, broadcast(10, 120), broadcast(150, 20), broadcast(180, 30, 1000)]
    advice = finding(detect(context(one_step(events))))
    # 100 elements: 20 each, as the shortest; 1000: 30.
    assert advice.measured == pytest.approx(7.0)
    assert advice.gain_us == pytest.approx(70)
    assert [(row["size_bytes"], row["calls"], row["shortest_us"]) for row in advice.rows] == [
        (400, 2, 20),
        (4000, 1, 30),
    ]
    assert "broadcast_buffers=False" in advice.note().text


def test_without_sizes_they_count_as_equal() -> None:
    events = [FORWARD, broadcast(10, 120, None), broadcast(150, 20, None)]
    assert finding(detect(context(one_step(events)))).gain_us == pytest.approx(40)


@pytest.mark.parametrize(
    "events",
    [
        [broadcast(10, 120)],  # no DDP
        [FORWARD, broadcast(500, 120)],  # somebody else's
        [FORWARD, broadcast(10, 8)],  # too little
        [FORWARD, broadcast(10, 120), kernel("gemm", 0, 200)],  # beside computation
        [FORWARD, annotation("gloo:all_reduce", 10, 120, tid=2)],
        [FORWARD, annotation("nccl:broadcast", 10, 120)],  # only enqueued
    ],
)
def test_otherwise_there_is_no_finding(events: list[Event]) -> None:
    assert detect(context(one_step(events))) is None


def test_a_real_run_of_ddp_reports_its_buffers(samples: Path) -> None:
    """Against the raw file: two broadcasts of buffers (72 and 1344 bytes or so) per forward."""
    path = min((samples / "cpu_ddp4_gloo").glob("rank1.*"))
    advice = finding(detect(context(load(path))))
    assert advice.values["calls_per_step"] == 2
    assert {row["name"] for row in advice.rows} == {"gloo:broadcast"}
