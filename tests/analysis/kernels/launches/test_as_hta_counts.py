"""Streams and launches by HTA's definitions, computed from the events of recordings one by one.

``docs/views-idle.md#as-hta-counts``: queue length, launch delay, short kernels, and the idle time
of streams as host wait, kernel wait (below 30 ns) and other.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.consistency.recordings import FILES, opened
from tests.helpers.traces import call, kernel, memcpy, step, trace
from torch_tb_profiler.analysis.algebra.intervals import total
from torch_tb_profiler.analysis.kernels.launches.launch_delays import WorkClass, launches
from torch_tb_profiler.analysis.kernels.launches.streams import streams

BEGINNINGS = (
    "kineto_resnet50_nw0/worker0.1623143089861",
    "h100_bert",
    "mi300_bert",
    "dlrm_8_ranks/worker3",
)
NAMES = [name for name in FILES if name.startswith(BEGINNINGS)]
RUNTIME = ("cuda_runtime", "cuda_driver", "runtime", "hip_runtime")
WORK = ("kernel", "memcpy", "gpu_memcpy", "memset", "gpu_memset")
Event = dict[str, Any]


@cache
def recorded(name: str) -> dict[tuple[int, int], list[tuple[Event, Event | None]]]:
    """Per device and stream its work and the call of each, in order of start; times in ns."""
    document = json.loads(gzip.decompress(FILES[name].read_bytes()), parse_float=Decimal)
    events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    for event in events:
        event["cat"] = str(event.get("cat")).lower()
        event["ts"], event["dur"] = (int(event[key] * 1000) for key in ("ts", "dur"))
    calls = {
        event["args"]["correlation"]: event
        for event in events
        if event["cat"] in RUNTIME and "correlation" in event.get("args", {})
    }
    streams: dict[tuple[int, int], list[tuple[Event, Event | None]]] = defaultdict(list)
    for event in events:
        if event["cat"] in WORK:
            args = event["args"]
            launch = calls.get(args.get("correlation"))
            streams[int(args["device"]), int(args["stream"])].append((event, launch))
    for works in streams.values():
        works.sort(key=lambda pair: int(pair[0]["ts"]))
    return dict(streams)


def linked(name: str) -> dict[tuple[int, int], list[tuple[Event, Event]]]:
    """The same of work whose call is known."""
    return {
        key: [(work, launch) for work, launch in works if launch is not None]
        for key, works in recorded(name).items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_queues_of_streams(name: str) -> None:
    shown = {(stream.device, stream.stream): stream for stream in streams(opened(name))}
    assert set(linked(name)) == set(shown)
    for key, works in linked(name).items():
        begun = [(min(launch["ts"], work["ts"]), 1) for work, launch in works]
        # Of one moment what leaves the queue goes first.
        changes = np.array(sorted(begun + [(work["ts"], -1) for work, _ in works]))
        length = np.cumsum(changes[:, 1])
        area, most = int((np.diff(changes[:, 0]) * length[:-1]).sum()), length.max()
        queue = shown[key].queue
        assert queue is not None
        assert queue.levels()[1].max() == most
        assert queue.integral_within(np.array([-(2**61)]), np.array([2**61])) == pytest.approx(area)


@pytest.mark.parametrize("name", NAMES)
def test_gaps_of_streams(name: str) -> None:
    shown = {(stream.device, stream.stream): stream for stream in streams(opened(name))}
    for key, works in recorded(name).items():
        waits = [0, 0, 0]
        ended = works[0][0]["ts"] + works[0][0]["dur"]
        for work, launch in works[1:]:
            gap = work["ts"] - ended
            if gap > 0:
                late = launch is not None and launch["ts"] > ended
                waits[0 if late else 1 if gap < 30 else 2] += gap
            ended = max(ended, work["ts"] + work["dur"])
        stream = shown[key]
        gaps = stream.gap_end_ns - stream.gap_start_ns
        assert [int(gaps[stream.gap_kind == kind].sum()) for kind in range(3)] == waits


@pytest.mark.parametrize("name", NAMES)
def test_delays_and_short_kernels(name: str) -> None:
    works = [pair for pairs in linked(name).values() for pair in pairs]
    result = launches(opened(name))
    delays = [max(work["ts"] - launch["ts"] - launch["dur"], 0) for work, launch in works]
    assert sorted(result.delay_ns.tolist()) == sorted(delays)
    short = [
        work["dur"]
        for work, launch in works
        if work["cat"] == "kernel" and work["dur"] < launch["dur"]
    ]
    assert sorted(result.work_ns[result.is_short].tolist()) == sorted(short)


def test_a_graph_is_one_launch() -> None:
    result = launches(
        trace(
            [
                step(1, 0, 500),
                call("cudaGraphLaunch", 0, 40, corr=1),
                kernel("a", 50, 10, corr=1),
                kernel("b", 70, 10, corr=1),
                call("cudaMemcpyAsync", 100, 10, corr=2),
                memcpy(105, 5, corr=2),
            ]
        )
    )
    of_class = dict(zip(result.work_class.tolist(), result.delay_ns.tolist(), strict=True))
    assert of_class == {WorkClass.KERNEL: 10_000, WorkClass.COPY: 0}
    assert not result.is_short.any()  # what a call of a graph takes is not of one kernel


def test_overlap_of_streams() -> None:
    result = streams(
        trace(
            [
                kernel("a", 0, 100, stream=7),
                kernel("b", 60, 100, stream=8),
                kernel("c", 140, 100, stream=9),
                kernel("d", 0, 300, stream=7, device=1),
            ]
        )
    )
    shared = {(stream.device, stream.stream): total(stream.overlapped) for stream in result}
    assert shared == {(0, 7): 40_000, (0, 8): 60_000, (0, 9): 20_000, (1, 7): 0}
    assert all(stream.queue is None for stream in result)
