"""Sums of MindSpore's folders against second readers: ``csv`` and ``json``."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import sums
from tests.importers.mindspore.folder_sums import STEP_PARTS, DeviceFiles
from tests.importers.mindspore.folders import on_disk, opened
from torch_tb_profiler.importers.mindspore.files import MEMBERS
from torch_tb_profiler.trace.model import Trace

AI_CORE = "AI Core"


def rows(trace: Trace, table: str) -> list[dict[str, Any]]:
    return trace.side[table].frame.rows(named=True) if table in trace.side else []


def assert_same_sums(folder: Path, device: int) -> None:
    """Steps are no slices of a timeline: the importer adds them on a row of their own."""
    trace, files = opened(on_disk(folder, device)), DeviceFiles(folder, device)
    slices = {key: each for key, each in sums.slices(trace).items() if key[0] != "steps"}
    assert sums.differences(slices, files.timeline()) == {}
    operators = [each for each in rows(trace, "recorded_operators") if each["unit"] == AI_CORE]
    types = [each for each in operators if each["name"] is None]
    assert files.types() == sums.add_up(
        ((each["type"], each["calls"]), each["total_us"]) for each in types
    )
    assert files.operators() == sums.add_up(
        ((each["name"], each["calls"]), each["mean_us"]) for each in operators if each["name"]
    )
    assert files.steps() == sums.add_up(
        ((part,), round(step[part] * 100))
        for step in rows(trace, "recorded_step_trace")
        for part in STEP_PARTS
    )
    assert files.flops() == sums.add_up(
        ((each["name"], each["kind"]), each["flops"])
        for each in rows(trace, "recorded_flops")
        if each["level"] == "operator"
    )
    assert files.queue_sizes() == sums.add_up(
        ((each["operation"],), each["size"]) for each in rows(trace, "queue_sizes")
    )


def devices_of(folder: Path) -> set[int]:
    parsed = (member.parse(path.name) for path in folder.iterdir() for member in MEMBERS)
    return {int(each.worker) for each in parsed if each is not None}


def test_every_folder_of_the_corpus(corpus: Path) -> None:
    folders = sorted((corpus / "mindspore_r1").iterdir())
    pairs = [(folder, device) for folder in folders for device in devices_of(folder)]
    assert len(pairs) == 10
    for folder, device in pairs:
        assert_same_sums(folder, device)


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9).map(
    "Default/{}-op1".format
) | st.sampled_from(['Default/a,"b"-op2', "Default/c d-op3"])
MS = st.decimals(0, 1000, places=6).map("{:f}".format)
CALLS = st.integers(1, 10**6)


@given(
    types=st.lists(st.tuples(NAMES, MS, CALLS), max_size=6),
    operators=st.lists(st.tuples(NAMES, MS, CALLS), max_size=6),
    slices=st.lists(st.tuples(NAMES, st.integers(0, 10**6), MS), min_size=1, max_size=8),
    steps=st.lists(st.lists(st.integers(0, 10**9), min_size=4, max_size=4), max_size=4),
)
def test_random_folders(
    types: list[Any], operators: list[Any], slices: list[Any], steps: list[list[int]]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for kind, first, time, table in (
            ("type", "kernel_type", "total_time", types),
            ("detail", "full_kernel_name", "execution_time", operators),
        ):
            with (folder / f"aicore_intermediate_3_{kind}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([(first, time, "execution_frequency"), *table])
        with (folder / "step_trace_raw_3_detail_time.csv").open("w", newline="") as file:
            header = ("step_num", "start_point", "end_point", *STEP_PARTS.values())
            points = [(number, 5, 10**10, *each) for number, each in enumerate(steps, 1)]
            csv.writer(file).writerows([header, *points])
        events = [
            {"name": name, "ph": "X", "pid": 1, "tid": 7, "ts": start, "dur": float(dur)}
            for name, start, dur in slices
        ]
        (folder / "timeline_display_3.json").write_text(json.dumps(events))
        assert_same_sums(folder, 3)
