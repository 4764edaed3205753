"""What was looked for, with its outcome.

Cases: a rule that found something, one that found nothing, one the recording cannot tell of; one
told with a larger finding; a rule that speaks although a need is not met; no step; every rule once;
every need named is known, met by some trace and missed by another.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import context, device, launched, one_step
from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import codes_of_scope, run_detectors
from torch_tb_profiler.evidence.needs import NEEDS, unmet_need
from torch_tb_profiler.evidence.report import checks_table
from torch_tb_profiler.knowledge.advice import TRACE, entries
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.checks import INCONCLUSIVE, ISSUE, PASSED
from torch_tb_profiler.views.schema import Note

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def outcomes(of: Trace) -> dict[str, dict[str, Any]]:
    table = run_detectors(of, Selection()).checks
    return {row["code"]: row for row in table.frame.to_dicts()}


def test_each_rule_stands_once_with_its_outcome() -> None:
    rows = outcomes(one_step([op(LOADER, 100, 400), op("aten::add", 600, 10)]))
    assert sorted(rows) == sorted(codes_of_scope(TRACE))
    assert rows["dataloader_bound"] == {
        "check": "Data loading",
        "outcome": ISSUE,
        "reason": None,
        "measured": "40 %",
        "threshold": "5 %",
        "code": "dataloader_bound",
    }
    assert rows["data_parallel"]["outcome"] == PASSED
    assert rows["low_gpu_utilization"]["outcome"] == INCONCLUSIVE
    assert "No device work was recorded" in rows["low_gpu_utilization"]["reason"]
    shown = [row["outcome"] for row in rows.values()]
    assert shown == sorted(shown, key=[ISSUE, INCONCLUSIVE, PASSED].index)


def test_without_a_step_all_checks_are_inconclusive() -> None:
    assert {row["outcome"] for row in outcomes(trace([])).values()} == {INCONCLUSIVE}
    assert {row["reason"] for row in outcomes(trace([step(1, 0, 0)])).values()} == {
        "The selection contains no step time."
    }


def test_a_finding_listed_with_another_is_an_issue() -> None:
    evidence = {
        "title": "Data loading",
        "measured": 1234.5,
        "same_time": [{"code": "launch_bound", "title": "", "text": ""}],
    }
    notes = [Note("advice", "dataloader_bound", "warning", "", evidence)]
    table = checks_table(["launch_bound", "dataloader_bound"], notes, lambda _: "Unknown.")
    assert table.frame["outcome"].to_list() == [ISSUE, ISSUE]
    assert table.frame["reason"].to_list() == [
        "See “Data loading”.",
        None,
    ]
    assert table.frame["measured"].to_list() == [None, "1,234 %"]


def test_an_issue_counts_even_if_a_need_is_not_met() -> None:
    notes = [Note("advice", "straggler", "warning", "", {"measured": 3.0})]
    table = checks_table(["straggler", "uneven_steps"], notes, lambda _: "Unknown.")
    assert table.frame["outcome"].to_list() == [ISSUE, INCONCLUSIVE]


def test_every_need_that_is_named_is_known_and_every_known_one_is_named() -> None:
    assert {need for known in entries().values() for need in known.needs} == set(NEEDS)


BARE = [kernel("k", 10, 10)]
RICH: list[Event] = [
    op("aten::mm", 5, 40, ext=1),
    call("cudaLaunchKernel", 8, 1, corr=1, ext=1),
    kernel("k", 10, 10, corr=1, ext=1, blocks=1.0, occupancy=50),
    kernel("k", 10, 10, device=1),
    annotation("Optimizer.step#SGD.step", 60, 20),
]
MET_TOGETHER = (
    "blocks_per_sm",
    "kernel_operators",
    "launches",
    "matrix_units",
    "occupancy",
    "optimizer",
    "several_devices",
)


@pytest.mark.parametrize("name", MET_TOGETHER)
def test_a_need_is_met_where_it_is_recorded_and_only_there(name: str) -> None:
    rich = one_step(RICH, deviceProperties=[device(0), device(1)])
    assert NEEDS[name].is_met(context(rich))
    assert not NEEDS[name].is_met(context(one_step(BARE)))


def test_needs_of_host_work_and_steps() -> None:
    on_host = context(one_step([op("aten::add", 1, 1)]))
    on_device = context(one_step(BARE))
    assert [NEEDS["host"].is_met(each) for each in (on_host, on_device)] == [True, False]
    assert [NEEDS["device_work"].is_met(each) for each in (on_host, on_device)] == [False, True]
    calls = context(one_step([call("cudaMalloc", 1, 1), kernel("k", 10, 10)]))
    assert [NEEDS["host"].is_met(calls), NEEDS["host_calls"].is_met(calls)] == [False, True]
    assert [NEEDS["host_calls"].is_met(each) for each in (on_host, on_device)] == [True, False]
    three = context(trace([step(n, n * 100, 100) for n in range(3)]))
    assert [NEEDS["three_steps"].is_met(each) for each in (three, on_host)] == [True, False]
    assert unmet_need(on_device, ("device_work",)) is None
    assert unmet_need(on_device, ("device_work", "host", "launches")) == NEEDS["host"].missing


def test_gpu_memory_needs_the_size_of_the_gpu() -> None:
    memory = {
        "ph": "i",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "ts": 5,
        "s": "t",
        "args": {
            "Device Type": 1,
            "Device Id": 0,
            "Addr": 1,
            "Bytes": 10,
            "Total Allocated": 10,
            "Total Reserved": 20,
        },
    }
    events = [memory, *launched("k", 10, 10, 1)]
    sized = context(one_step(events, deviceProperties=[device(0)]))
    assert NEEDS["gpu_memory"].is_met(sized)
    assert not NEEDS["gpu_memory"].is_met(context(one_step(events)))
    assert not NEEDS["gpu_memory"].is_met(
        context(one_step(launched("k", 10, 10, 1), deviceProperties=[device(0)]))
    )
