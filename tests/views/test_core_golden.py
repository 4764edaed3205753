"""The core views on real traces: the predecessor's numbers, and every
row of the operator and kernel tables against direct sums over the raw JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.views import reference
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.overview.view import overview

RESNET = "kineto_resnet50_nw0"
SPANS = {
    1: f"{RESNET}/worker0.1623143089861.pt.trace.json.gz",
    2: f"{RESNET}/worker0.1623143566756.pt.trace.json.gz",
}
REAL = (
    *SPANS.values(),
    "h100_bert_small/rank0.pt.trace.json.gz",
    "mi300_bert_small/rank0.pt.trace.json.gz",
    "torch_compile_triton/rank0.pt.trace.json.gz",
    "dlrm_8_ranks/worker0_step_12.1694128201545.pt.trace.json.gz",
    "dlrm_8_ranks/worker1_step_12.1694128201556.pt.trace.json.gz",
    "cpu_resnet_full/worker0.1795226132075806134.pt.trace.json.gz",
    "cpu_ddp4_gloo/rank2.1795226204995313222.pt.trace.json.gz",
    "cpu_slowloader_nw2/nw2.1795226097847100830.pt.trace.json.gz",
)
"""Files in which no ranges cross (the slow reference knows none)."""

APPENDIX_B: dict[int, dict[str, Any]] = {
    1: {
        "steps": ["5", "6", "7", "8", "9", "10"],
        "average": 177592,
        "durations": [98589, 1915, 89, 0, 2908, 59262, 13674, 1156],
        "shares": [55.51, 1.08, 0.05, 0, 1.64, 33.37, 7.7, 0.65],
        "gpu": (55.51, 54.68, 49.13, 0),
        "kernel_us": 591532,
    },
    2: {
        "steps": ["16", "17", "18", "19", "20", "21"],
        "average": 154911,
        "durations": [98535, 1734, 89, 0, 4053, 35504, 13786, 1210],
        "shares": [63.61, 1.12, 0.06, 0, 2.62, 22.92, 8.9, 0.78],
        "gpu": (63.61, 62.65, 49.14, 0),
        "kernel_us": 591209,
    },
}
GPU_COLUMNS = (
    "utilization_pct",
    "est_sm_efficiency_pct",
    "est_achieved_occupancy_pct",
    "tensor_core_time_pct",
)


@pytest.fixture(scope="module")
def opened(samples: Path) -> Any:
    retained: dict[str, Trace] = {}

    def opening(name: str) -> Trace:
        if name not in retained:
            retained[name] = build_trace(import_trace([(samples / name).read_bytes()], name=name))
        return retained[name]

    return opening


@pytest.mark.parametrize("span", [1, 2])
def test_overview_of_appendix_b(opened: Any, span: int) -> None:
    expected = APPENDIX_B[span]
    view = overview(opened(SPANS[span]), Selection())
    average = view.tables["average_step"].frame
    assert [round(value) for value in average["duration_us"].to_list()] == expected["durations"]
    assert [round(value, 2) for value in average["pct"].to_list()] == expected["shares"]
    assert view.tables["steps"].frame["step"].to_list() == expected["steps"]
    facts = {fact.key: fact.value for fact in view.facts}
    assert round(float(facts["average_step_us"] or 0)) == expected["average"]
    [gpu] = view.tables["gpus"].frame.to_dicts()
    assert tuple(round(gpu[key], 2) for key in GPU_COLUMNS) == expected["gpu"]
    assert (gpu["gpu"], gpu["name"]) == (0, "Tesla V100-DGXS-32GB")
    assert (gpu["memory_bytes"], gpu["compute_capability"]) == (34084028416, "7.0")


@pytest.mark.parametrize("span", [1, 2])
def test_row_counts_of_appendix_b(opened: Any, span: int) -> None:
    recorded = opened(SPANS[span])

    def heights(view: Any, name: str, *group_bys: str) -> list[int]:
        return [
            view(recorded, Selection(group_by=group_by)).tables[name].frame.height
            for group_by in group_bys
        ]

    assert heights(operators, "operators", "name", "name+input_shape") == [76, 577]
    assert heights(kernels, "kernels", "name", "name+operator+launch") == [67, 226]
    stacks = operators(recorded, Selection(group_by="name+call_stack")).tables["operators"].frame
    assert stacks.filter(stacks["call_stack"].is_not_null())["name"].n_unique() == 52
    table = kernels(recorded, Selection()).tables["kernels"].frame
    assert table["calls"].sum() == 8772
    assert round(table["total_us"].sum()) == APPENDIX_B[span]["kernel_us"]


@pytest.mark.parametrize("name", REAL)
def test_every_operator_row_is_the_sum_over_the_raw_events(
    opened: Any, samples: Path, name: str
) -> None:
    read = reference.read(reference.load(samples / name))

    def shape(node: reference.Node) -> str | None:
        dims = node.args.get("Input Dims")
        return None if dims is None else json.dumps(dims)

    def stack(node: reference.Node) -> str | None:
        text = node.args.get("Call stack")
        return text.strip(";") if text else None

    keys: dict[str, Callable[[Any], tuple[Any, ...]]] = {
        "name": lambda node: (node.name, None, None),
        "name+input_shape": lambda node: (node.name, shape(node), None),
    }
    if any(node.args.get("Call stack") for node in read.operators):
        keys["name+input_shape+call_stack"] = lambda node: (node.name, shape(node), stack(node))
    for group_by, key in keys.items():
        expected = reference.operator_sums(read.operators, key)
        frame = operators(opened(name), Selection(group_by=group_by)).tables["operators"].frame
        result = {
            (row["name"], row["input_shape"], row["call_stack"]): (
                row["calls"],
                row["device_self_us"] or 0,
                row["device_total_us"] or 0,
                row["host_self_us"],
                row["host_total_us"],
            )
            for row in frame.filter(frame["kind"] == "operator").to_dicts()
        }
        assert result.keys() == expected.keys()
        for group, values in expected.items():
            # What the file does not state of any of the kernels may be computed instead.
            stated = [row for row, value in enumerate(values) if value is not None]
            own = [result[group][row] for row in stated]
            assert own == pytest.approx([values[row] for row in stated], abs=1e-6), group


@pytest.mark.parametrize("name", REAL)
def test_every_kernel_row_is_the_sum_over_the_raw_events(
    opened: Any, samples: Path, name: str
) -> None:
    read = reference.read(reference.load(samples / name))
    pieces = [piece for piece in read.device if piece["cat"].lower() == "kernel"]
    keys: dict[str, Callable[[Any], tuple[Any, ...]]] = {
        "name": lambda piece: (piece["name"], *[None] * 5),
        "name+operator+launch": reference.kernel_key,
    }
    for group_by, key in keys.items():
        expected = reference.kernel_sums(pieces, key)
        frame = kernels(opened(name), Selection(group_by=group_by)).tables["kernels"].frame
        result = {
            (
                row["name"],
                row["operator"],
                row["grid"],
                row["block"],
                row["registers_per_thread"],
                row["shared_memory_bytes"],
            ): (
                row["calls"],
                row["total_us"],
                row["mean_us"],
                row["min_us"],
                row["max_us"],
                row["mean_blocks_per_sm"],
                row["mean_est_achieved_occupancy_pct"],
            )
            for row in frame.to_dicts()
        }
        assert result.keys() == expected.keys()
        for group, values in expected.items():
            # What the file does not state of any of the kernels may be computed instead.
            stated = [row for row, value in enumerate(values) if value is not None]
            own = [result[group][row] for row in stated]
            assert own == pytest.approx([values[row] for row in stated], abs=1e-6), group


@pytest.mark.parametrize("name", REAL)
def test_categories_of_real_steps_add_up(opened: Any, name: str) -> None:
    frame = overview(opened(name), Selection()).tables["steps"].frame
    assert frame.height > 0
    for row in frame.rows():
        assert sum(part or 0 for part in row[2:]) == pytest.approx(row[1], abs=1e-6)


def test_no_kernel_of_modern_traces_is_without_an_operator(opened: Any) -> None:
    for name in ("h100_bert_small", "mi300_bert_small", "torch_compile_triton"):
        view = kernels(
            opened(f"{name}/rank0.pt.trace.json.gz"), Selection(group_by="name+operator+launch")
        )
        assert view.tables["kernels"].frame["operator"].null_count() == 0
