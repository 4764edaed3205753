"""Cases: parts of dispatches per rank, cut lists, lists that are none; lists of sizes of grouped
products, and lists that are something else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.moe import GROUPED, expert_parallel
from tests.helpers.traces import call, kernel, op, trace
from torch_tb_profiler.analysis.experts.shares import expert_share_facts


def test_parts_of_dispatches() -> None:
    shares = expert_share_facts(expert_parallel(0, [10, 40], splits=[7, 3]))
    rows = shares.select("step", "kind", "tokens").rows()
    assert rows == [(0, "rank", [14, 6]), (1, "rank", [14, 6])]
    assert shares["group_key"].unique().to_list() == ["3|[0,1]"]


@pytest.mark.parametrize(
    ("splits", "tokens"),
    [
        ("[7, 3, ...]", [7, 3]),
        ("[]", []),
        ("[7, -3]", []),
        ("[x]", []),
        ("", []),
    ],
)
def test_lists_as_recorded(splits: str, tokens: list[int]) -> None:
    shares = expert_share_facts(expert_parallel(0, [10], steps=1, splits=splits))
    assert shares["tokens"].explode().drop_nulls().to_list() == tokens


@pytest.mark.parametrize(
    ("values", "tokens"), [("[3, 2, 5]", [3, 2, 5]), ("[3, 2]", []), ("[0, 1, 2]", []), ("10", [])]
)
def test_sizes_of_grouped_products(values: str, tokens: list[int]) -> None:
    """A list counts only if it divides the rows of the product."""
    inputs: dict[str, Any] = {
        "Concrete Inputs": ["", values],
        "Input type": ["float", "ScalarList"],
    }
    events = [
        op("_GroupedLinear", 0, 5, shape=[[10, 8], []], **inputs),
        call("cudaLaunchKernel", 1, 1, corr=1),
        kernel(GROUPED, 10, 5, corr=1),
    ]
    shares = expert_share_facts(trace(events))
    assert shares["tokens"].explode().drop_nulls().to_list() == tokens
    assert set(shares["kind"]) <= {"expert"}
