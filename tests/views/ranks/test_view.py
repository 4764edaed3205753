"""All ranks on one page: each row is what the views of that rank alone show, from summaries as from
traces; ranks need not communicate, and one is enough."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from tests.helpers.opening import open_file
from tests.helpers.traces import Event, annotation, call, kernel, memory, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.loading.queries.views import run_view
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.answering import value_of
from torch_tb_profiler.views.distributed.view import distributed
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.phases.view import phases
from torch_tb_profiler.views.ranks.view import SPEC
from torch_tb_profiler.views.schema import View

RUNS = ("cpu_ddp4_gloo", "dlrm_8_ranks", "kineto_resnet50_nw0", "cpu_resnet_full")
DETECTED = ("dataloader", "forward", "backward", "optimizer")


@pytest.fixture(scope="module", params=RUNS, name="traces")
def traces_of_a_run(request: pytest.FixtureRequest, samples: Path) -> dict[str, Trace]:
    contents = Catalog([TraceRoot(os.fspath(samples / request.param))], cache=None).contents()
    workers = next(iter(contents.runs.values()))
    return {
        worker: open_file(next(iter(spans.values())).location, cache=None)
        for worker, spans in workers.items()
    }


def shown(traces: dict[str, Trace], selection: Selection | None = None) -> View:
    result = run_view(SPEC, traces, selection or Selection())
    for table in result.tables.values():
        assert dict(table.frame.schema) == table.spec.polars_schema()
    return result


def row_of(view: View, worker: str) -> dict[str, Any]:
    (row,) = (
        row for row in view.tables["ranks"].frame.iter_rows(named=True) if row["worker"] == worker
    )
    return row


@pytest.mark.parametrize("steps", [None, "last 1"])
def test_each_row_is_what_the_views_of_that_rank_show(
    traces: dict[str, Trace], steps: str | None
) -> None:
    selection = Selection(steps=steps)
    view = shown(traces, selection)
    for worker, each in traces.items():
        row, own = row_of(view, worker), overview(each, selection)
        assert row["step_us"] == value_of(own, "average_step_us")
        assert row["steps"] == value_of(own, "step_count")
        assert row["longest_step_us"] == own.tables["steps"].frame["total_us"].max()
        utilization = value_of(own, "gpu_utilization_used_mean_pct")
        assert (row["utilization_pct"] is None) == (utilization is None)
        assert row["utilization_pct"] == pytest.approx(utilization)
        overlap = distributed({worker: each}, selection).tables["overlap"].frame.row(0, named=True)
        if overlap["computation_us"] is not None:
            assert row["computation_us"] == pytest.approx(
                overlap["computation_us"] + overlap["overlap_us"]
            )
            assert row["exposed_communication_us"] == pytest.approx(overlap["communication_us"])
            assert row["idle_us"] == pytest.approx(overlap["other_us"])
        of_phases = phases(each, selection).tables["phases"].frame
        times = dict(of_phases.select("phase", "cpu_total_us").iter_rows())
        known = {name: times[name] for name in DETECTED if times[name]}
        longest = max(known, key=lambda name: known[name], default=None)
        assert row["slowest_phase"] == longest
        if longest is not None:
            assert row["slowest_phase_us"] * row["steps"] == pytest.approx(known[longest])


def test_the_parts_of_each_step_add_up_to_it(traces: dict[str, Trace]) -> None:
    frame = shown(traces, Selection()).tables["rank_steps"].frame
    parts = frame["computation_us"] + frame["exposed_communication_us"] + frame["idle_us"]
    assert parts.to_list() == pytest.approx(frame["step_us"].to_list())


@pytest.mark.parametrize("steps", [None, "last 1"])
def test_the_view_of_summaries_is_the_same(
    traces: dict[str, Trace], tmp_path: Path, steps: str | None
) -> None:
    whole = shown(traces, Selection(steps=steps))
    small = shown(summarised(traces, tmp_path), Selection(steps=steps))
    assert (whole.facts, whole.notes, whole.answer) == (small.facts, small.notes, small.answer)
    for name, table in whole.tables.items():
        assert_frame_equal(table.frame, small.tables[name].frame)
        assert table.null_reasons == small.tables[name].null_reasons


def summarised(traces: dict[str, Trace], folder: Path) -> dict[str, Trace]:
    summaries = {}
    for number, (worker, each) in enumerate(traces.items()):
        own = folder / str(number)
        own.mkdir()
        save_summary(each, own)
        summaries[worker] = load_summary(own)
    return summaries


def training(rank: int, ranks: int, *, forward: float = 40, steps: int = 3) -> Trace:
    """Steps of 200 µs: a forward pass, whose kernel takes as long, and an optimizer."""
    events: list[Event] = []
    for number in range(steps):
        at = 100 + number * 200
        events += [
            step(number, at, 199),
            annotation("forward", at + 5, forward),
            op("aten::mm", at + 6, 10, ext=number + 1),
            call("cudaLaunchKernel", at + 7, 4, corr=number + 1, ext=number + 1),
            kernel("gemm", at + 20, forward + rank % 3 * 0.1, corr=number + 1, ext=number + 1),
            annotation("Optimizer.step#SGD.step", at + 150, 20),
        ]
    return trace(events, distributedInfo={"rank": rank, "world_size": ranks, "backend": "nccl"})


def test_ranks_that_never_communicate_stand_out() -> None:
    traces = {f"w{rank}": training(rank, 16, forward=90 if rank == 5 else 40) for rank in range(16)}
    view = shown(traces)
    assert value_of(view, "outlier_count") == 1
    row = row_of(view, "w5")
    assert "computation +1" in row["outliers"]
    assert row["node"] is None
    assert "node" in view.tables["ranks"].null_reasons
    assert view.answer is not None
    assert view.answer.startswith("Rank 5 costs 25.2 % of the step time (est.): its kernels take")
    assert set(view.tables["rank_outliers"].frame["worker"]) == {"w5"}
    assert set(view.tables["rank_outliers"].frame["column"]) >= {"computation_us", "idle_us"}
    (computation,) = (
        row
        for row in view.tables["rank_outliers"].frame.iter_rows(named=True)
        if row["column"] == "computation_us"
    )
    assert computation["value_text"] == f"{computation['value']:.1f} µs"
    assert computation["change"].startswith("+1")


def test_patterns_name_the_ranks_that_differ() -> None:
    traces = {
        f"w{rank}": training(rank, 16, forward=90 if rank >= 12 else 40) for rank in range(16)
    }
    rows = shown(traces).tables["patterns"].frame
    assert rows.select("pattern", "rank_count", "ranks").rows() == [
        (1, 12, "0-11"),
        (2, 4, "12-15"),
    ]
    assert rows["differs_in"][0] is None
    assert "forward time 90.0 µs instead of 40.0 µs" in rows["differs_in"][1]
    assert rows["forward_us"].to_list() == [40, 90]


def test_healthy_ranks() -> None:
    view = shown({f"w{rank}": training(rank, 8) for rank in range(8)})
    assert view.answer == "No rank stands out. Step times differ by at most 0 %."
    assert view.tables["patterns"].frame["ranks"].to_list() == ["0-7"]
    steps = view.tables["rank_steps"].frame
    assert steps.select("step", "rank").rows()[:9] == [
        *(("0", rank) for rank in range(8)),
        ("1", 0),
    ]


def test_one_rank() -> None:
    view = shown({"w": training(0, 1)})
    assert view.answer == "Only one rank is loaded: there is none to compare it with."
    assert view.tables["ranks"].frame.height == 1


def test_memory_peak_is_the_largest_of_the_steps() -> None:
    events = [step(number, 100 + number * 200, 199) for number in range(2)]
    events += [
        memory(150, 64, allocated=64, address=1),
        memory(160, 512, allocated=576, address=2),
        memory(350, -512, allocated=64, address=2),
    ]
    row = row_of(shown({"w": trace(events)}), "w")
    assert row["memory_peak_bytes"] == 576


def test_a_rank_without_the_selected_step_has_no_values() -> None:
    traces = {"a": training(0, 2, steps=3), "b": training(1, 2, steps=2)}
    view = shown(traces, Selection(steps="2"))
    assert row_of(view, "a")["step_us"] is not None
    assert row_of(view, "b")["step_us"] is None
    assert "step_us" in view.tables["ranks"].null_reasons
    with pytest.raises(SelectionError):
        shown(traces, Selection(steps="77"))


def test_a_time_range_selects_the_steps_that_begin_in_it() -> None:
    each = training(0, 1)
    first_ns = int(each.steps["start_ns"][1])
    view = shown({"w": each}, Selection(start_ns=first_ns))
    assert row_of(view, "w")["steps"] == 2


def test_ranks_without_any_step() -> None:
    """A recording without steps is one step; one without events has no row but that of nulls."""
    without = trace([op("aten::mm", 10, 5)])
    view = shown({"w": without, "x": training(1, 2)})
    assert row_of(view, "w")["step_us"] == 5.0
    assert SPEC.missing(without) is None
