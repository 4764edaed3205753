"""Ranks that stand out, against the definition computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.outliers import OUTLIERS, rank_outliers


def measures(step_ns: Sequence[float | None], **others: Sequence[float | None]) -> pl.DataFrame:
    workers = pl.int_range(len(step_ns), dtype=pl.Int32, eager=True)
    return pl.DataFrame({"worker": workers, "step_ns": step_ns, **others})


def everyone(count: int) -> pl.Series:
    return pl.Series([None] * count, dtype=pl.Int32)


def test_robust_z_by_hand() -> None:
    values = [100.0, 101, 99, 100, 102, 98, 100, 130]
    rows = rank_outliers(measures([1000.0] * 8, computation_ns=values), everyone(8))
    assert rows.schema == OUTLIERS
    assert rows.select("worker", "measure", "value", "median").rows() == [
        (7, "computation_ns", 130.0, 100.0)
    ]
    mad = float(np.median(np.abs(np.array(values) - 100)))
    assert rows["z"][0] == 30 / (1.4826 * mad)


def test_what_does_not_matter_does_not_stand_out() -> None:
    """1.9 % of the step, however large its z."""
    values = [100.0] * 7 + [119.0]
    assert rank_outliers(measures([1000.0] * 8, computation_ns=values), everyone(8)).is_empty()


def test_three_ranks_have_no_usual_value() -> None:
    values: list[float | None] = [100.0, 100.0, 900.0]
    assert rank_outliers(measures([1000.0] * 3, computation_ns=values), everyone(3)).is_empty()


def test_ranks_are_compared_with_their_peers() -> None:
    """Two stages of a pipeline: half the ranks compute twice as long, one of them thrice."""
    values = [100.0] * 8 + [200.0] * 7 + [300.0]
    stages = pl.Series([0] * 8 + [1] * 8, dtype=pl.Int32)
    rows = rank_outliers(measures([1000.0] * 16, computation_ns=values), stages)
    assert rows["worker"].to_list() == [15]
    assert rows["median"].to_list() == [200.0]
    assert rows["z"].is_infinite().all()


def test_unknown_values_are_left_out() -> None:
    values: list[float | None] = [None, 5.0, 5.0, 5.0, 5.0, 90.0]
    rows = rank_outliers(measures([1000.0] * 6, utilization_pct=values), everyone(6))
    assert rows["worker"].to_list() == [5]


def test_healthy_ranks_rarely_stand_out() -> None:
    """Of 8,192 ranks with normal noise of 5 % of the step, in ten measures."""
    noise = np.random.default_rng(1)
    keys = ("computation_ns", "idle_ns", "input_wait_ns", "pause_ns")
    columns = {key: noise.normal(300, 50, 8192).tolist() for key in keys}
    rows = rank_outliers(measures(noise.normal(1000, 50, 8192).tolist(), **columns), everyone(8192))
    assert rows.height <= 1
