"""Strategies that files state: what they divide, the stages of ranks, damaged values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.importers.mindspore.folders import folder_of, opened
from torch_tb_profiler.analysis.parallel.coordinates import rank_coordinates
from torch_tb_profiler.analysis.parallel.recorded import division, recorded_strategies
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.strategy.view import SPEC, strategy


def values(parts: list[int]) -> dict[str, object]:
    return {"dtype": "DT_TUPLE", "values": [{"dtype": "DT_INT64", "intVal": str(n)} for n in parts]}


def node(kind: str, *inputs: list[int], attribute: str = "gen_strategy") -> dict[str, object]:
    value = {"dtype": "DT_TUPLE", "values": [values(each) for each in inputs]}
    return {
        "opType": kind,
        "fullName": f"Default/{kind}-op1",
        "attribute": [{"name": attribute, "value": value}],
    }


def rank(number: int, stage: int, *nodes: object) -> Trace:
    devices = [{"dim": [{"size": str(2 * at + n)} for n in range(2)]} for at in range(2)]
    config = {"rankId": number, "stageId": stage, "parallelType": "semi_auto_parallel"}
    document = {"config": {**config, "stageDevices": devices}, "graph": {"node": list(nodes)}}
    return opened(folder_of({f"parallel_strategy_{number}.json": json.dumps(document)}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((2,1,1,1),(1,1,1,1))", "data"),
        ("((1,4),(4,1))", "model"),
        ("((2,2),(2,1))", "data and model"),
        ("((8,1),(8,1))", "data"),  # a residual: both inputs have the batch
        ("((1,1),(1,1))", "not divided"),
        ("((1),(4))", "model"),
        ("()", None),
        ("(())", None),
    ],
)
def test_what_a_strategy_divides(text: str, expected: str | None) -> None:
    assert division(text) == expected


def test_operators_that_are_divided_alike_are_one_row() -> None:
    conv, matmul = node("Conv2D", [2, 1, 1, 1], [1, 1, 1, 1]), node("MatMul", [1, 2], [2, 1])
    traces = {"0": rank(0, 0, conv, conv, matmul), "2": rank(2, 1, node("MatMul", [2, 1], [1, 1]))}
    frame = strategy(traces, Selection()).tables["recorded_strategy"].frame
    keys = ("stage", "ranks", "type", "strategy", "division", "operators")
    assert frame.select(keys).rows() == [
        (0, "0", "Conv2D", "((2,1,1,1),(1,1,1,1))", "data", 2),
        (0, "0", "MatMul", "((1,2),(2,1))", "model", 1),
        (1, "2", "MatMul", "((2,1),(1,1))", "data", 1),
    ]
    assert rank_coordinates(traces)["pipeline"].to_list() == [0, 1]
    assert SPEC.missing(traces["0"]) is None


def test_damaged_graphs_lose_only_what_is_damaged() -> None:
    bad = [None, 3, {"attribute": 7}, {"attribute": [{"name": "gen_strategy", "value": "x"}]}]
    good = node("MatMul", [1, 2], [2, 1], attribute="in_strategy")
    frame = recorded_strategies({"0": rank(0, 0, *bad, good)})
    assert frame.select("type", "strategy").rows() == [("MatMul", "((1,2),(2,1))")]
    alone = recorded_strategies({"0": rank(0, 0)})
    assert alone.select("stage", "mode", "type").rows() == [(0, "semi_auto_parallel", None)]


def test_the_corpus(corpus: Path) -> None:
    folder = corpus / "mindspore_r1" / "parallel_strategy"
    names = [f"parallel_strategy_{number}.json" for number in (0, 1)]
    traces = {name: opened(folder_of({name: (folder / name).read_text()})) for name in names}
    rows = strategy(traces, Selection()).tables["recorded_strategy"].frame
    assert rows.select("stage", "ranks", "mode", "division", "operators").rows() == [
        (0, "0-1", "auto_parallel", "data", 1)
    ]
