"""NVTX ranges of synthetic exports: categories, owners of device work, domains."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import nsys
from torch_tb_profiler.analysis.operators.hierarchies.of_ranges import (
    domains_of_ranges,
    ranges_hierarchy,
)
from torch_tb_profiler.analysis.recording.range_domains import MAX_DOMAINS, OTHERS
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.nsys.categories import count_as_operators
from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace


def traced(folder: Path, tables: dict[str, list[nsys.Row]]) -> Trace:
    path = nsys.write_export(folder / "made.sqlite", tables)
    return build_trace(read_export(str(path), path.name, Reading()))


def ranges(folder: Path, *events: nsys.Row, kernels: Iterable[nsys.Row] = ()) -> Trace:
    calls = [nsys.called("cudaLaunchKernel", 50, 55, 1)]
    return traced(
        folder,
        {nsys.NVTX: list(events), nsys.RUNTIME: calls, nsys.KERNEL: list(kernels)}
    )  # fmt: skip


def named(trace: Trace, category: Category) -> list[str | None]:
    codes = trace.slices.filter(category=int(category))["name_code"].to_list()
    return [trace.text(code) for code in codes]


def name_of(trace: Trace, slice_id: int | None) -> str | None:
    return None if slice_id is None else trace.text(trace.slices["name_code"][slice_id])


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return traced(tmp_path_factory.mktemp("nsys"), nsys.training())


def test_ranges_are_classified_by_their_texts(training: Trace) -> None:
    assert named(training, Category.STEP) == ["ProfilerStep#0", "ProfilerStep#1"]
    operators = ["torch.linear", "aten::linear"] * 2 + ["AddmmBackward0"] * 2
    assert named(training, Category.OPERATOR) == operators
    annotations = set(named(training, Category.ANNOTATION))
    assert annotations == {
        "/Net/fc", "ncclAllReduce", "my loss", "never closed", "handed over", "epoch", "loader",
    }  # fmt: skip
    assert [name_of(training, each) for each in training.device_work["owner"]] == [
        "aten::linear", "aten::linear", "AddmmBackward0", "my loss", "ProfilerStep#0",
        "aten::linear", "aten::linear", "AddmmBackward0", "my loss", "ProfilerStep#1",
    ]  # fmt: skip
    assert training.instants.height == 2
    assert training.steps["name"].to_list() == ["0", "1"]
    assert training.steps["device_events"].to_list() == [5, 5]


def test_operators_have_their_inputs_stacks_and_forward_calls(training: Trace) -> None:
    rows = training.operators.to_dicts()
    forward = [row for row in rows if row["forward"] is not None]
    assert [name_of(training, row["slice"]) for row in forward] == ["AddmmBackward0"] * 2
    assert [name_of(training, row["forward"]) for row in forward] == ["aten::linear"] * 2
    of_step = training.slices["step"]
    assert [of_step[row["forward"]] for row in forward] == [0, 1]
    linear = next(row for row in rows if name_of(training, row["slice"]) == "aten::linear")
    assert training.text(linear["input_shape_code"]) == "[[8, 4], [4, 4], []]"
    assert training.text(linear["call_stack_code"]) == "/app/net.py(11): ;/app/main.py(3): "
    marker = next(row for row in rows if name_of(training, row["slice"]) == "torch.linear")
    assert training.text(marker["input_shape_code"]) == "[[8, 4]]"
    assert training.text(marker["input_type_code"]) == "['float32']"


def test_start_end_ranges_do_not_nest(training: Trace) -> None:
    """They are on extra tracks of their thread, and none is the parent of another."""
    apart = training.slices.filter(
        np.isin(training.slices["name_code"], _codes(training, "epoch", "loader", "handed over"))
    )
    assert apart["parent"].null_count() == apart.height == 5
    assert not training.slices["parent"].is_in(apart["id"].implode()).any()
    tracks = training.tracks[apart["track"].unique().sort().to_list()]
    assert tracks["thread_name"].to_list() == [
        "1001: start/end ranges", "1001: start/end ranges 2",
    ]  # fmt: skip
    assert tracks["process"].unique().to_list() == [0]
    assert training.quality.counts["range_across_threads"] == 1
    assert training.quality.counts["range_unclosed"] == 1


def _codes(trace: Trace, *names: str) -> list[int]:
    strings = trace.strings.tolist()
    return [strings.index(name) for name in names]


def test_work_is_in_the_range_of_each_domain(training: Trace) -> None:
    domains = domains_of_ranges(training)
    assert list(domains) == ["user", "call stacks", "NCCL"]
    hierarchy = ranges_hierarchy(training, "NCCL")
    calls = [int(call) for call in hierarchy.work_call]
    assert calls == [-1, 0, -1, -1, -1, -1, 1, -1, -1, -1]
    user = ranges_hierarchy(training, "user")
    inside = [int(user.call_slice[call]) if call >= 0 else None for call in user.work_call]
    assert [name_of(training, each) for each in inside] == [None, None, None, "my loss", None] * 2
    view = trace_view(view_spec("groups"), training, Selection(), {"domain": "NCCL"})
    assert view.tables["groups"].frame["name"].to_list()[0] == "ncclAllReduce"


def test_threads_have_the_names_that_the_program_gave_them(training: Trace) -> None:
    assert "autograd" in training.tracks["thread_name"].to_list()


def test_ranges_replace_missing_operators(tmp_path: Path) -> None:
    trace = ranges(
        tmp_path, nsys.pushed("iteration 3", 10, 100), nsys.pushed("forward", 40, 90),
        nsys.started("epoch", 0, 200),
        kernels=[nsys.ran("k", 60, 80, 1)],
    )  # fmt: skip
    assert named(trace, Category.OPERATOR) == ["forward"]
    assert named(trace, Category.ANNOTATION) == ["iteration 3", "epoch"]
    assert trace.quality.counts["ranges_as_operators"] == 1
    table = trace_view(view_spec("operators"), trace, Selection()).tables["operators"].frame
    assert table.select("name", "calls").rows() == [("forward", 1)]
    assert list(domains_of_ranges(trace)) == ["user"]
    assert {name_of(trace, each) for each in domains_of_ranges(trace)["user"].tolist()} == {
        "iteration 3", "forward", "epoch",
    }  # fmt: skip


def test_iteration_ranges_do_not_replace_operators() -> None:
    iterations = ["iteration 3", "step_12", "train/epoch 1", "Batch#7", "decode iter: 4"]
    others = ["forward", "step", "batch_norm 2", "iteration", "layer 3", "step 1 of 2"]
    stands_in = count_as_operators(iterations + others).tolist()
    assert stands_in == [False] * len(iterations) + [True] * len(others)


def test_work_outside_ranges_is_shown(tmp_path: Path) -> None:
    trace = ranges(
        tmp_path, nsys.pushed("aten::mm, op_id = 1", 60, 90), kernels=[nsys.ran("k", 60, 80, 1)]
    )
    assert trace.device_work.select("owner", "orphan_reason").rows() == [(None, "no_operator")]
    assert trace.quality.counts["launch_without_operator"] == 1


def test_steps_may_be_started_and_ended(tmp_path: Path) -> None:
    trace = ranges(
        tmp_path, nsys.started("ProfilerStep#4", 10, 100), nsys.pushed("aten::mm", 40, 90),
        kernels=[nsys.ran("k", 60, 80, 1)],
    )  # fmt: skip
    assert trace.steps.select("name", "device_events").rows() == [("4", 1)]
    assert trace.slices.filter(category=int(Category.OPERATOR))["parent"].to_list() == [None]


def test_domains_have_the_name_of_their_creation_payload_or_number(tmp_path: Path) -> None:
    other = nsys.HOST | 2000 << 24 | 2000
    trace = traced(
        tmp_path,
        {
            nsys.NVTX: [
                {"start": 1, "eventType": nsys.DOMAIN, "domainId": 1, "globalTid": nsys.MAIN,
                 "text": "mine"},
                *(nsys.pushed(f"in {number}", 10 * number, 10 * number + 5, domainId=number)
                  for number in (1, 2, 3)),
                nsys.pushed("elsewhere", 10, 20, other, domainId=1),
                nsys.pushed("aten::mm", 50, 60),
            ],
            "NVTX_PAYLOAD_SCHEMA_ENTRIES": [{"domainId": 2, "name": "NCCL communicator ID"}],
        },
    )  # fmt: skip
    assert set(domains_of_ranges(trace)) == {"mine", "NCCL", "domain 3"}
    assert len(domains_of_ranges(trace)["mine"]) == 2


def test_domains_beyond_a_limit_are_merged(tmp_path: Path) -> None:
    events = [
        nsys.pushed("r", 10 * number, 10 * number + 5, domainId=number) for number in range(1, 100)
    ]
    trace = ranges(tmp_path, nsys.pushed("aten::mm", 5000, 5010), *events)
    domains = domains_of_ranges(trace)
    assert len(domains) <= MAX_DOMAINS
    assert OTHERS in domains
    assert sum(map(len, domains.values())) == 99


@pytest.mark.parametrize(
    ("event", "count"),
    [
        (nsys.pushed("a", 5, 1), {"negative_duration": 1}),
        ({**nsys.pushed("a", 5, 9), "textId": 77}, {"nsys_text_missing": 1, "missing_name": 1}),
        ({**nsys.pushed("a", 5, 9), "textId": None}, {"missing_name": 1}),
        ({**nsys.pushed("a", 5, 9), "start": None}, {"event_without_time": 1}),
        ({**nsys.pushed("a", 5, 9), "globalTid": None}, {"event_without_time": 1}),
        ({**nsys.pushed("a", 5, 9), "start": "x"}, {"event_without_time": 1, "database_cell": 1}),
        ({**nsys.pushed("a", 5, 9), "end": 2**70}, {}),
        (nsys.pushed("a", 5, 2**62), {"huge_duration": 1}),
        (nsys.pushed("a\0b", 5, 9), {}),
    ],
    ids=range(9),
)
def test_odd_ranges_are_counted(tmp_path: Path, event: nsys.Row, count: dict[str, int]) -> None:
    event = {key: str(value) if value == 2**70 else value for key, value in event.items()}
    trace = ranges(tmp_path, nsys.pushed("aten::mm", 20, 30), event)
    counted = trace.quality.counts
    assert {code: counted.get(code, 0) for code in count} == count
    for name in ("overview", "operators"):
        trace_view(view_spec(name), trace, Selection())
