"""Inputs of nodes, compared with what Kineto wrote of the same operators."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.importers.execution.samples import attributes, nodes, operators, pairs
from torch_tb_profiler.importers.execution.nodes import NodeValues
from torch_tb_profiler.importers.execution.values import TensorValue, input_texts, tensors


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: f"{pair[0].parent.name}-{pair[0].name}")
def test_shapes_types_and_values_are_those_of_kineto(pair: tuple[Path, Path]) -> None:
    by_id = {attributes(node)["rf_id"]: node for node in nodes(pair[0])}
    compared = 0
    for event in operators(pair[1]):
        args = event["args"]
        node = by_id[args["Record function id"]]
        assert node["name"] == event["name"]
        if "Input Dims" not in args:
            continue
        inputs = node["inputs"]
        texts = input_texts(NodeValues(inputs["values"], inputs["shapes"], inputs["types"]))
        assert texts.types == str(args["Input type"])
        if "TensorList" not in args["Input type"]:
            assert texts.shapes == str(args["Input Dims"])
        written = zip(args["Concrete Inputs"], inputs["types"], strict=True)
        given = ast.literal_eval(texts.values or "[]")
        # Of a Double the observer writes six digits.
        assert [value for value, kind in zip(given, inputs["types"], strict=True)
                if "Double" not in kind] == [
            value for value, kind in written if "Double" not in kind
        ]  # fmt: skip
        compared += 1
    assert compared > 1000


def test_tensors_are_listed_in_order_and_out_of_lists() -> None:
    one, two = [7, 8, 0, 512, 4, "cpu"], [9, 8, 16, 2, 4, "cuda:0"]
    values = NodeValues([one, [2, 3, 32, 32], "<None>", [two, [one]], 1.5, [1, 2, 3, 4, 5]])
    expected = [TensorValue(7, 8, 0, 512, 4, "cpu"), TensorValue(9, 8, 16, 2, 4, "cuda:0")]
    assert list(tensors(values)) == [*expected, expected[0]]


@pytest.mark.parametrize(
    "values",
    [
        json.loads("[" * 12 + '1, 2, 3, 4, 5, "x"' + "]" * 12),
        [["1", None, {}, [], True, "cpu"]],
        [[2**70, 1, 1, 1, 1, "cpu"]],
        [{"a": 1}, None, "x"],
    ],
)
def test_values_that_are_no_tensors_are_none(values: list[object]) -> None:
    assert not list(tensors(NodeValues(values)))


def test_lists_of_different_lengths_are_read_as_far_as_the_types_go() -> None:
    texts = input_texts(NodeValues([], [[2]], ["Tensor(float)", "Int", 7]))
    assert texts == ("[[2], [], []]", "['float', 'Scalar', '']", "['', '', '']")
    assert input_texts(NodeValues([1], [[1]], [])) == (None, None, None)
