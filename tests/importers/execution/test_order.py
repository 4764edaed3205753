"""Positions of nodes: a node lies inside its parent, in order of ids; circles are cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.importers.execution.order import parent_rows, positions


def walked(row: list[int]) -> list[tuple[int, int]]:
    """Positions by a walk that calls itself."""
    found: dict[int, tuple[int, int]] = {}
    position = 0

    def walk(node: int) -> None:
        nonlocal position
        begin, position = position, position + 1
        for child, parent in enumerate(row):
            if parent == node:
                walk(child)
        found[node] = begin, position
        position += 1

    for node, parent in enumerate(row):
        if parent < 0:
            walk(node)
    return [found[node] for node in range(len(row))]


@examples(200)
@given(st.lists(st.integers(-2, 14), max_size=14))
def test_every_node_lies_inside_its_parent(parents: list[int]) -> None:
    ids = np.arange(len(parents)) * 3
    row, circles = parent_rows(ids, np.array(parents, np.int64) * 3)
    begins, ends = positions(row)
    assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == walked(row.tolist())
    given_rows = [parent if 0 <= parent < len(parents) else -1 for parent in parents]
    is_cut = row != np.array(given_rows, np.int64)
    assert (row[is_cut] == -1).all()
    assert bool(is_cut.any()) is (circles > 0)


def test_a_chain_of_a_million_nodes() -> None:
    ids = np.arange(1_000_000)
    row, circles = parent_rows(ids, ids - 1)
    begins, ends = positions(row)
    assert circles == 0
    assert (begins == ids).all()
    assert (ends == 1_999_999 - ids).all()
