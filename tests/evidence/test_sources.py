"""Where advice says its rows are, there they are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import torch_tb_profiler
from tests.detectors.scenes import ELEMENTWISE, context, device, finding, launched, load, one_step
from tests.helpers.traces import Event, annotation, call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.long_gaps import MAX_GAPS
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import (
    codes_of_scope,
    dataloader_bound,
    detector,
    gpu_imbalance,
    host_synchronization,
    low_gpu_utilization,
    low_sm_efficiency,
    memcpy_share,
    nccl_backend,
    optimizer_not_fused,
    pageable_copies,
    straggler,
    uneven_steps,
)
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.sources import filter_clause, gap_source
from torch_tb_profiler.knowledge.advice import TRACE
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import query
from torch_tb_profiler.views.registry import view_named
from torch_tb_profiler.views.schema import View

COPY = "Memcpy HtoD (Pageable -> Device)"


def rows_of(advice: Finding, traces: Mapping[str, Trace]) -> pl.DataFrame:
    """The rows that the source of some advice leads to."""
    return rows_at(advice.source, traces)


def rows_at(where: Mapping[str, str], traces: Mapping[str, Trace]) -> pl.DataFrame:
    source: dict[str, Any] = dict(where)
    spec, table = view_named(source.pop("view")), source.pop("table")
    selection = Selection(group_by=source.pop("group_by", None))
    first = next(iter(traces.values()))
    # The function of a view takes what its scope says.
    view: View = spec.function(traces if spec.scope == "run" else first, selection)  # type: ignore[arg-type, call-arg]
    return query(view.tables[table], **source).frame


def led_to(advice: Finding | None, of: Trace) -> pl.DataFrame:
    return rows_of(finding(advice), {"w": of})


def test_every_source_of_the_samples_leads_to_rows(samples: Path) -> None:
    seen = set()
    for path in sorted(samples.glob("*/*.gz")):
        of = load(path)
        for code in codes_of_scope(TRACE):
            advice = detector(code).detect(context(of))
            if advice is not None:
                assert rows_of(advice, {"w": of}).height > 0, (path, advice)
                seen.add(advice.code)
    assert len(seen) >= 8


LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def loads_and_launches(loads: int) -> list[Event]:
    """Batches of 80 µs, each before a kernel; then ten operators of 20 µs that launch late."""
    events: list[Event] = []
    for number in range(loads):
        at = 100 * number
        events += [
            annotation(LOADER, at, 80),
            *launched("k", at + 84, 10, number + 1, launch_at=at + 81),
        ]
    for number in range(10):
        at = 100 * loads + 20 * number
        events += [
            op("aten::add", at, 20),
            *launched("k", at + 18, 1, 1000 + number, launch_at=at + 15),
        ]
    return events


def test_time_of_the_host_leads_to_its_gaps() -> None:
    of = context(one_step(loads_and_launches(5), length=700))
    source = gap_source(of, IdleCause.HOST)
    assert (source["view"], source["table"]) == ("idle", "gaps")
    rows = rows_at(source, {"w": of.trace})
    assert rows["cause"].unique().to_list() == ["launch_bound"]
    assert rows["operator"][0] == "aten::add"
    assert rows["duration_us"].is_sorted(descending=True)


def test_short_gaps_behind_many_long_ones_lead_to_the_causes() -> None:
    of = context(one_step(loads_and_launches(MAX_GAPS + 1), length=100 * MAX_GAPS + 400))
    source = gap_source(of, IdleCause.HOST)
    assert (source["view"], source["table"]) == ("idle", "causes")
    assert "launch_bound" in rows_at(source, {"w": of.trace})["cause"]


def test_every_source_says_what_comes_first() -> None:
    """Rows in the order of the view would put anything at the top of the screen."""
    package = Path(torch_tb_profiler.__file__).parent
    unsorted, count = [], 0
    for path in [*(package / "detectors").glob("*.py"), *(package / "evidence").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Dict):
                continue
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            if {"view", "table"} <= keys:
                count += 1
                unsorted += [] if "sort" in keys else [f"{path.name}:{node.lineno}"]
    assert count > 30
    # Its caller adds the sort.
    assert [each.partition(":")[0] for each in unsorted] == ["gpu_underused.py"]


def test_a_straggler_leads_to_the_stragglers(samples: Path) -> None:
    run = {path.name: load(path) for path in sorted((samples / "dlrm_8_ranks").iterdir())}
    advice = finding(
        straggler.detect_across_workers({name: context(of) for name, of in run.items()})
    )
    assert rows_of(advice, run)["worker"][0] == advice.values["worker"]
    assert advice.spot is not None
    assert advice.spot.worker == advice.values["worker"]


def test_unequal_workers_lead_to_the_mean_of_each_the_busiest_first() -> None:
    run = {
        name: trace([step(1, 0, 500), kernel("k", 0, dur), step(2, 500, 500)])
        for name, dur in {"a": 100, "b": 300}.items()
    }
    advice = gpu_imbalance.detect_across_workers({name: context(of) for name, of in run.items()})
    rows = rows_of(finding(advice), run)
    assert rows.select("step", "worker", "computation_us").rows() == [
        ("all", "b", 150.0),
        ("all", "a", 50.0),
    ]


def test_waiting_for_data_leads_to_the_steps_that_waited_most() -> None:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    of = trace([step(1, 0, 100), op(loader, 0, 20), step(2, 100, 100), op(loader, 100, 60)])
    rows = led_to(dataloader_bound.detect(context(of)), of)
    assert rows["dataloader_us"].to_list() == [60.0, 20.0]


def test_idle_gpus_lead_to_those_below_the_threshold_the_idlest_first() -> None:
    of = one_step([kernel("k", 0, dur, device=gpu) for gpu, dur in enumerate((300, 600, 100))])
    assert led_to(low_gpu_utilization.detect(context(of)), of)["gpu"].to_list() == [2, 0]


def test_empty_multiprocessors_lead_to_the_launches_that_leave_them_empty() -> None:
    """By name alone, k has two blocks per multiprocessor in the mean."""
    of = one_step(
        [kernel("k", 0, 300, blocks=0.1, grid=[8]), kernel("k", 300, 10, blocks=59, grid=[4720])]
    )
    rows = led_to(low_sm_efficiency.detect(context(of)), of)
    assert rows["mean_blocks_per_sm"].to_list() == pytest.approx([0.1])


def test_unequal_gpus_lead_to_the_gpus_the_busiest_first() -> None:
    of = one_step([kernel("k", 0, dur, device=gpu) for gpu, dur in enumerate((100, 400))])
    assert led_to(gpu_imbalance.detect(context(of)), of)["gpu"].to_list() == [1, 0]


def copies(*of: tuple[str, float, float]) -> list[Event]:
    """Copies by operator, start and length, each launched 1 µs before."""
    return [
        event
        for corr, (name, at, dur) in enumerate(of, 1)
        for event in (
            op(name, at - 2, dur + 4),
            call("cudaMemcpyAsync", at - 1, dur, corr=corr),
            memcpy(at, dur, name=COPY, corr=corr),
        )
    ]


@pytest.mark.parametrize(
    ("detect", "copying"), [(memcpy_share.detect, 1.0), (pageable_copies.detect, 0.25)]
)
def test_copies_lead_to_the_operator_that_copied_longest(
    detect: Callable[[Context], Finding | None], copying: float
) -> None:
    """One long copy outweighs two short ones."""
    copy_events = copies(("aten::to", 10, 20), ("aten::to", 50, 20), ("aten::_pack;1", 100, 60))
    for event in copy_events:
        if event["name"] == COPY:
            event["dur"] *= copying  # the rest of the call finds the device idle
    of = one_step([*copy_events, *launched("k", 200, 100, 9)])
    rows = led_to(detect(context(of)), of)
    assert rows.select("name", "calls").rows() == [("aten::_pack;1", 1)]


def test_copies_of_no_operator_lead_to_the_steps() -> None:
    of = trace([step(1, 0, 100), memcpy(10, 20), step(2, 100, 100), memcpy(110, 60)])
    rows = led_to(memcpy_share.detect(context(of)), of)
    assert rows["memcpy_us"].to_list() == [60.0, 20.0]


def waits(*of: tuple[str, float]) -> list[Event]:
    """An operator per name that waits for a kernel and leaves the device idle for as long."""
    events: list[Event] = []
    at = 0.0
    for corr, (name, idle) in enumerate(of, 1):
        events += launched("k", at + 10, idle, corr)
        events += [op(name, at + 12, idle), call("cudaDeviceSynchronize", at + 12, idle - 1)]
        at += 2 * idle
    return [*events, *launched("k", at + 10, 30, 99)]


def test_waits_lead_to_the_operator_the_device_stood_idle_longest_after() -> None:
    """Not to the one that waits most often, and to no other by a part of its name."""
    of = one_step(
        waits(("aten::item", 30), ("aten::item", 30), ("_sync", 200), ("my_sync_all", 20)),
    )
    advice = finding(host_synchronization.detect(context(of)))
    assert advice.values["operator"] == "_sync"
    assert rows_of(advice, {"w": of})["name"].to_list() == ["_sync"]


def test_waits_of_no_operator_lead_to_the_steps() -> None:
    events = [*launched("k", 10, 90, 1), call("cudaDeviceSynchronize", 30, 920)]
    of = one_step(events)
    advice = finding(host_synchronization.detect(context(of)))
    assert advice.source == {"view": "overview", "table": "steps", "sort": "-runtime_us"}
    assert rows_of(advice, {"w": of})["step"].to_list() == ["1"]


def test_an_optimizer_leads_to_what_its_main_operator_launched() -> None:
    events: list[Event] = [annotation("Optimizer.step#SGD.step", 0, 2000)]
    for number in range(120):
        at = 10.0 * number
        name = "aten::mul_" if number % 3 == 0 else "aten::add_"
        events += [op(name, at + 1, 3), *launched(ELEMENTWISE, at + 5, 4, number + 1)]
        events[-2]["ts"] = at + 2
    events += [op("aten::sum", 2100, 10), *launched("sum", 2110, 4, 999, launch_at=2101)]
    of = one_step(events, length=3000)
    advice = finding(optimizer_not_fused.detect(context(of)))
    rows = rows_of(advice, {"w": of})
    assert rows.select("name", "operator", "calls").rows() == [(ELEMENTWISE, "aten::add_", 80)]
    assert [(row["operator"], row["calls"]) for row in advice.rows] == [
        ("aten::add_", 80),
        ("aten::mul_", 40),
    ]


def test_a_slow_backend_leads_to_its_collectives() -> None:
    forward = op("DistributedDataParallel.forward", 0, 100)
    gloo = annotation("gloo:all_reduce", 10, 10, tid=2)
    of = one_step([forward, gloo], deviceProperties=[device()])
    assert led_to(nccl_backend.detect(context(of)), of)["name"].to_list() == ["gloo:all_reduce"]


def test_uneven_steps_lead_to_the_steps_the_longest_first() -> None:
    of = trace([step(1, 0, 100), step(2, 100, 100), step(3, 200, 900)])
    assert led_to(uneven_steps.detect(context(of)), of)["step"].to_list() == ["3", "1", "2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aten::mm", "name=aten::mm"),
        ("a<b>=c", "name=a<b>=c"),
        ("a;b\\c", "name=a\\;b\\\\c"),
        ("-", "name~-"),
        (" a", "name~ a"),
        ("x" * 501, "name~" + "x" * 500),
    ],
)
def test_clauses_take_names_literally(text: str, expected: str) -> None:
    assert filter_clause("name", text) == expected
