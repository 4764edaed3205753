"""The tables of dimensions and process groups."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.parallel.costs import COST_DIMENSIONS, cost_dimension
from torch_tb_profiler.knowledge.communication import bus_factor
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.collectives import NO_SIZE, UNTIMED
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.strategy.columns import DIMENSIONS, GROUPS

NO_MATCH = "There are no calls, or none is matched with one of another worker."
NO_BANDWIDTH = f"{NO_MATCH} Or the size of the calls is unknown, or nothing crosses a link."
NO_STEPS = "No step is recorded whole, so there are no means per step."
_COLLECTIVES_SHOWN = 4


def dimensions_table(groups: pl.DataFrame, costs: pl.DataFrame, frame: pl.DataFrame) -> Table:
    """The ``dimensions`` table.

    Args:
        groups: The dimension of each group (``group_dimensions``).
        costs: Of the dimensions in each step (``dimension_costs``).
        frame: The steps (``window_frame``).
    """
    averaged = frame.filter("averaged")
    steps = averaged.height
    step_ns = int((averaged["end_ns"] - averaged["start_ns"]).sum() or 0)
    named = groups.with_columns(cost_dimension())
    kinds = (
        named.filter((pl.col("size") != 1).fill_null(value=True))
        .group_by("dimension")
        .agg(
            pl.col("size").max(),
            pl.col("group_key").count().cast(pl.Int64).alias("groups"),
            pl.col("source").drop_nulls().unique().sort().str.join(", ").alias("source"),
            pl.col("reason").drop_nulls().unique().sort().str.join("; ").alias("reason"),
        )
    )
    times = ("total_ns", "transfer_ns", "wait_ns", "exposed_ns", "hidden_ns")
    sums = (
        costs.join(averaged.select("worker", "window"), on=["worker", "window"])
        .group_by("dimension")
        .agg(
            pl.col("calls").sum(),
            *(
                pl.when(pl.col(key).is_not_null().any()).then(pl.col(key).sum()).alias(key)
                for key in ("bytes", *times)
            ),
        )
    )
    rows = kinds.join(sums, on="dimension", how="left")
    order = pl.Enum(COST_DIMENSIONS)
    rows = rows.sort(pl.col("dimension").cast(order)).with_columns(
        pl.col("source").replace("", None), pl.col("reason").replace("", None)
    )
    per_step = pl.lit(steps if steps else None, pl.Int64)
    shown = rows.with_columns(
        *(microseconds(rows[key], steps).alias(f"{key.removesuffix('_ns')}_us") for key in times),
        calls_per_step=pl.col("calls").fill_null(0) / per_step,
        step_bytes=pl.col("bytes") / per_step,
        exposed_pct=100 * pl.col("exposed_ns") / step_ns if step_ns else pl.lit(None, pl.Float64),
    )
    table = shown.select(
        pl.col(key).cast(dtype) for key, dtype in DIMENSIONS.polars_schema().items()
    )
    no_time = UNTIMED if steps else NO_STEPS
    reasons = {
        "calls_per_step": NO_STEPS,
        "step_bytes": NO_SIZE if steps else NO_STEPS,
        **dict.fromkeys(("total_us", "exposed_us", "exposed_pct", "hidden_us"), no_time),
        **dict.fromkeys(("transfer_us", "wait_us"), NO_MATCH),
    }
    return Table(DIMENSIONS, table, needed(table, reasons))


def groups_table(groups: pl.DataFrame, matching: Matching, recorded: pl.Series) -> Table:
    """The ``groups`` table.

    Args:
        groups: The dimension of each group (``group_dimensions``).
        matching: The selected calls.
        recorded: The ranks with a recording.
    """
    calls = matching.calls.group_by("group_key").agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.when(pl.col("input_bytes").is_not_null().any())
        .then(pl.col("input_bytes").sum())
        .alias("total_bytes"),
        pl.col("collective").drop_nulls().value_counts(sort=True).alias("kinds"),
    )
    rows = groups.join(calls, on="group_key", how="left", nulls_equal=True).join(
        _bandwidths(matching), on="group_key", how="left", nulls_equal=True
    )
    known = set(recorded.drop_nulls().to_list())
    members = rows["ranks"].to_list()
    shown = rows.with_columns(
        cost_dimension(),
        pl.col("calls").fill_null(0),
        ranks=pl.Series([ranks_text(each) for each in members], dtype=pl.String),
        recorded=pl.Series(
            [None if each is None else len(known.intersection(each)) for each in members],
            dtype=pl.Int64,
        ),
        collectives=pl.Series([_kinds_text(each) for each in rows["kinds"]], dtype=pl.String),
    )
    table = shown.select(pl.col(key).cast(dtype) for key, dtype in GROUPS.polars_schema().items())
    reasons = {
        "group": "The recording does not name the group of these calls.",
        "total_bytes": NO_SIZE,
        "bus_bandwidth_gb_per_s": NO_BANDWIDTH,
        **dict.fromkeys(("ranks", "recorded"), "The recordings do not list all of its members."),
    }
    return Table(GROUPS, table, needed(table, reasons))


def _kinds_text(kinds: pl.Series | Sequence[dict[str, object]] | None) -> str | None:
    """``"all_reduce × 24, broadcast × 2"``."""
    if kinds is None or not len(kinds):
        return None
    parts = [f"{each['collective']} × {each['count']:,}" for each in kinds]
    more = len(parts) - _COLLECTIVES_SHOWN
    return ", ".join(parts[:_COLLECTIVES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def ranks_text(ranks: Sequence[int] | None) -> str | None:
    """``"0-7"``, ``"0-12/4"`` for every fourth, else a list: ``"0,3,4"``."""
    if not ranks:
        return None
    distances = {after - before for before, after in itertools.pairwise(ranks)}
    if len(ranks) > 2 and len(distances) == 1 and min(distances) > 0:
        step = distances.pop()
        return f"{ranks[0]}-{ranks[-1]}" + ("" if step == 1 else f"/{step}")
    return ",".join(map(str, ranks))


def _bandwidths(matching: Matching) -> pl.DataFrame:
    """The bus bandwidth of the matched calls of each group; bytes per ns are 10^9 per second."""
    moved = (
        matching.ranges.filter(pl.col("transfer_ns") > 0)
        .group_by("worker", "record")
        .agg(pl.col("transfer_ns").sum())
    )
    calls = matching.calls.filter((pl.col("size_bytes") > 0) & pl.col("collective").is_not_null())
    kinds = calls.select("collective", "group_size").unique()
    factors = kinds.with_columns(
        factor=pl.Series(
            [bus_factor(kind, size or 0) for kind, size in kinds.rows()], dtype=pl.Float64
        )
    )
    return (
        calls.join(moved, on=["worker", "record"])
        .join(factors, on=["collective", "group_size"], nulls_equal=True)
        .drop_nulls("factor")
        .group_by("group_key")
        .agg(
            ((pl.col("size_bytes") * pl.col("factor")).sum() / pl.col("transfer_ns").sum()).alias(
                "bus_bandwidth_gb_per_s"
            )
        )
    )
