"""Phases of real recordings against plain sums over their JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.phases.view import phases

DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
RUNTIME = ("cuda_runtime", "cuda_driver")


def read(folder: Path, worker: str) -> list[dict[str, Any]]:
    (path,) = folder.glob(f"{worker}*.gz")
    events: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def test_phases_of_a_step_with_two_threads(samples: Path) -> None:
    """DLRM on 8 GPUs: ranges of its pipeline on the main thread, backward on another one."""
    events = read(samples / "dlrm_8_ranks", "worker0")
    view = phases(t.trace(events), Selection())
    got = {row["phase"]: row for row in view.tables["phases"].frame.rows(named=True)}
    ranges = {e["name"]: e for e in events if e["name"].startswith(("## ", "Optimizer.step"))}
    main = ranges["## forward ##"]["tid"]
    launches = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") in RUNTIME and "correlation" in event["args"]
    }

    def launched_within(name: str) -> float:
        around = ranges[name]
        first, last = around["ts"], around["ts"] + around["dur"]
        inside = (by["tid"] == main and first <= by["ts"] < last for _, by in linked)
        return sum(
            float(work["dur"]) for (work, _), is_in in zip(linked, inside, strict=True) if is_in
        )

    linked = [
        (event, launches[event["args"]["correlation"]])
        for event in events
        if event.get("cat") in DEVICE_WORK and event["args"]["correlation"] in launches
    ]
    other_thread = sum(work["dur"] for work, by in linked if by["tid"] != main)
    assert got["backward"]["gpu_total_us"] >= other_thread > 0
    assert got["forward"]["gpu_total_us"] >= launched_within("## forward ##") > 0
    # What the pipeline distributes for the next batch, between forward and backward, is neither.
    named = ranges["## forward ##"]["dur"]
    assert got["forward"]["cpu_total_us"] == pytest.approx(named, rel=0.02)
    assert got["other"]["cpu_total_us"] > ranges["## sparse_data_dist ##"]["dur"]
    assert got["optimizer"]["gpu_total_us"] == launched_within("## optimizer ##")
    every = sum(work["dur"] for work, _ in linked)
    assert sum(row["gpu_total_us"] for row in got.values()) - got["step"]["gpu_total_us"] == every


@pytest.mark.parametrize(
    ("folder", "worker"), [("cpu_ddp4_gloo", "rank0"), ("h100_bert_small", "rank0")]
)
def test_phases_of_a_recording_add_up(samples: Path, folder: str, worker: str) -> None:
    events = read(samples / folder, worker)
    view = phases(t.trace(events), Selection())
    frame = view.tables["phases"].frame
    steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
    host = [event for event in steps if event["cat"] == "user_annotation"]
    whole = sum(event["dur"] for event in host)
    assert frame["cpu_total_us"][0] == pytest.approx(whole, abs=1e-3)
    assert sum(value or 0 for value in frame["cpu_total_us"][1:]) == pytest.approx(whole, abs=1e-3)
