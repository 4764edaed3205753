"""Transfers are longer by what groups without the ranks do not move."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from torch_tb_profiler.analysis.ranks.larger_transfers import larger_transfers


def usual_us(calls: list[tuple[list[int], list[int | None]]], ranks: list[int]) -> dict[int, float]:
    """Per collective that is longer what it would take of 100 ns; of four ranks that are peers."""
    rows = [
        {
            "collective": number, "collective_name": "all_to_all", "dtype": "Float", "pair": None,
            "group_key": str(members), "group_size": len(members), "step": 0, "transfer_ns": 100,
            "members": members, "sizes": sizes,
        }
        for number, (members, sizes) in enumerate(calls)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema_overrides={"pair": pl.String, "sizes": pl.List(pl.Int64)})
    job, peers = SimpleNamespace(calls=frame), SimpleNamespace(group=np.zeros(4, np.int64))
    longer = larger_transfers(cast(Any, job), cast(Any, peers), np.array(ranks))
    return dict(longer.select("collective", "usual_ns").iter_rows())


def test_beside_groups_without_the_ranks() -> None:
    assert usual_us([([0, 1], [40, 40]), ([2, 3], [30, 30])], [0, 1]) == {0: 75.0}


def test_each_group_has_one_of_the_ranks() -> None:
    """Who receives less than 20 sends 20."""
    every = usual_us([([0, 1], [50, 20]), ([2, 3], [25, 20])], [0, 2])
    assert every == pytest.approx({0: 40.0, 1: 80.0})


def test_nothing_is_longer_without_sizes_or_with_the_same() -> None:
    assert usual_us([([0, 1], [None, 40]), ([2, 3], [30, 30])], [0, 2]) == {}
