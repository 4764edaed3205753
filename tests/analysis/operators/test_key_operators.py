"""A key node given as what the table of operators prints, against the calls of a planted trace."""

from __future__ import annotations

import pytest

from tests.helpers.traces import annotation, op, step, trace
from torch_tb_profiler.analysis.operators.identity import operator_identity
from torch_tb_profiler.analysis.operators.key_operators import key_operator_instances
from torch_tb_profiler.analysis.steps.iterations.ranks import split_ranks
from torch_tb_profiler.analysis.steps.iterations.split import UnknownKeyNodeError, split_iterations

RECORDED = trace(
    [
        event
        for n in range(3)
        for at in [n * 100]
        for event in (
            step(n, at, 90),
            annotation("encoder", at + 5, 30),
            op("aten::mm", at + 10, 5),
            op("aten::mm", at + 20, 6),
            annotation("decoder", at + 50, 30),
            op("aten::mm", at + 60, 7),
        )
    ]
)


@pytest.mark.parametrize(
    ("path", "ends"),
    [
        ("/encoder/aten::mm", [15, 115, 215]),
        ("/encoder/aten::mm(2)", [26, 126, 226]),
        ("/decoder/aten::mm", [67, 167, 267]),
    ],
)
def test_a_path_or_an_id_is_one_operator_at_its_place(path: str, ends: list[int]) -> None:
    identity = operator_identity(RECORDED)
    operator = identity.paths(range(identity.count)).index(path)
    for text in (path, identity.id_of(operator)):
        calls = key_operator_instances(RECORDED, text)
        assert (calls.end_ns // 1000).tolist() == ends
        steps = split_iterations(RECORDED, f"name:{text}", key_operator_instances).steps
        assert (steps["end_ns"].to_numpy() // 1000).tolist()[:3] == ends


def test_a_name_is_all_its_calls_and_an_unknown_one_is_refused() -> None:
    assert len(key_operator_instances(RECORDED, "aten::mm").slice) == 9
    for text in ("/encoder", "/nowhere/aten::mm", "matrix_product-forward-999", "mm-forward-1"):
        assert len(key_operator_instances(RECORDED, text).slice) == 0
        with pytest.raises(UnknownKeyNodeError):
            split_iterations(RECORDED, f"name:{text}", key_operator_instances)


def test_ranks_are_split_by_a_path_together() -> None:
    ranks = {"worker0": RECORDED, "worker1": RECORDED}
    split = split_ranks(ranks, "name:/decoder/aten::mm", key_operator_instances)
    assert {trace.steps.height for trace in split.values()} == {4}
