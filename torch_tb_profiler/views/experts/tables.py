"""The tables of the view of experts, from the loads of all ranks."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.analysis.experts.balance import PASS, ExpertLoads, rank_waits
from torch_tb_profiler.analysis.experts.shares import RANK
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.experts.columns import EXPERTS, KERNELS, LAYERS, LOADS, RANKS
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec

MAX_LOADS = 16_384
"""Rows of the table of loads: a map of 256 ranks and 64 layers."""

_TIMES = ("dispatch", "dispatch_exposed", "combine", "combine_exposed")
_TOTALS = ("product", "routing", *_TIMES)
_LAYER = ("stage", "layer", "direction")


def layers_table(loads: ExpertLoads, costs: pl.DataFrame) -> Table:
    """One row per layer and direction, in the order of the step; ``costs`` are those of the
    passes."""
    several = pl.col("ranks") > 1
    busiest = (
        costs.with_columns(
            worker=pl.when(pl.col("tokens_max") > pl.col("tokens_mean"))
            .then("busiest_tokens")
            .when(pl.col("tokens_max").is_null())
            .then(pl.when(pl.col("product_max_ns") > pl.col("product_mean_ns")).then("busiest"))
        )
        .drop_nulls("worker")
        .group_by(*_LAYER)
        .agg(pl.col("worker").mode().sort().first())
    )
    rows = (
        costs.group_by(*_LAYER, maintain_order=True)
        .agg(
            pl.col("number").min(),
            pl.col("ranks", "passes").max(),
            *(
                pl.when(pl.col(key).null_count() == 0).then(pl.col(key).mean()).alias(key)
                for key in ("tokens_max", "tokens_mean")
            ),
            *(
                (pl.col(f"{key}_ns").mean() / NS_PER_US).alias(f"{key}_us")
                for key in ("product_max", "product_mean", *_TIMES, "cost")
            ),
        )
        .join(busiest, on=_LAYER, how="left", maintain_order="left", nulls_equal=True)
        .sort("stage", "number", maintain_order=True)
        .with_columns(
            token_imbalance=pl.when(several).then(_ratio("tokens_max", "tokens_mean")),
            time_imbalance=pl.when(several).then(_ratio("product_max_us", "product_mean_us")),
            busiest=_names(loads, "worker"),
        )
    )
    return _filled(LAYERS, rows)


def ranks_table(loads: ExpertLoads, per_worker: pl.DataFrame, traces: Mapping[str, Trace]) -> Table:
    """One row per worker, in the order of the ranks, from its totals."""
    rows = per_worker.with_columns(
        worker=pl.Series(loads.workers, dtype=pl.String).gather(per_worker["worker"]),
        rank=pl.Series(
            [own_rank(traces[loads.workers[row]]) for row in per_worker["worker"].to_list()],
            dtype=pl.Int64,
        ),
        stage=loads.sets["stage"].gather(per_worker["worker"]),
        expert_index=loads.sets["index"].gather(per_worker["worker"]),
    )
    return _filled(RANKS, rows)


def rank_totals(loads: ExpertLoads) -> pl.DataFrame:
    """Per worker with work of experts the values of :data:`RANKS`, per step; ``worker`` is its
    number, and ``set`` the ranks it is compared with."""
    keys = ("worker", "set", "number", "tokens", *(f"{key}_ns" for key in _TOTALS))
    every = pl.concat([loads.passes.select(keys), loads.loose.select(keys)], how="vertical_relaxed")
    steps = pl.DataFrame(
        {"steps": loads.steps, "step_ns": loads.step_ns},
        schema={"steps": pl.Int64, "step_ns": pl.Int64},
    ).with_row_index("worker")
    busy = _busiest_share(loads)
    of_pass = pl.col("number") > 0
    return (
        every.group_by("worker", maintain_order=True)
        .agg(
            pl.col("set").first(),
            pl.col("tokens").sum(),
            # Dispatch and combine of no pass have no tokens.
            (pl.col("tokens").is_null() & of_pass).sum().alias("unknown"),
            pl.col("number").max(),
            *(pl.col(f"{key}_ns").sum() for key in _TOTALS),
        )
        .with_columns(tokens=pl.when(of_pass & (pl.col("unknown") == 0)).then("tokens"))
        .sort("worker")
        .join(rank_waits(loads), on="worker", how="left", maintain_order="left")
        .join(busy, on="worker", how="left", maintain_order="left")
        .join(
            steps.with_columns(pl.col("worker").cast(pl.Int64)),
            on="worker",
            how="left",
            maintain_order="left",
        )
        .with_columns(
            tokens=pl.col("tokens") / pl.col("steps"),
            # Passes of several streams may overlap.
            product_pct=(_ratio("product_ns", "step_ns") * 100).clip(upper_bound=100),
            **{
                f"{key}_us": pl.col(f"{key}_ns") / (pl.col("steps") * NS_PER_US)
                for key in (*_TOTALS, "wait")
            },
        )
        .with_columns(
            token_ratio=_to_mean("tokens", "set"), time_ratio=_to_mean("product_us", "set")
        )
    )


def _busiest_share(loads: ExpertLoads) -> pl.DataFrame:
    """Per worker the share of its passes in which its load is the largest, of those whose loads
    differ."""
    ranks = loads.passes.filter("compared")
    return (
        ranks.with_columns(load=_load(PASS))
        .filter(pl.col("load").max().over(PASS) > pl.col("load").mean().over(PASS))
        .with_columns(leads=pl.col("load") >= pl.col("load").max().over(PASS))
        .group_by("worker")
        .agg((pl.col("leads").mean() * 100).alias("busiest_pct"))
    )


def _load(*keys: str) -> pl.Expr:
    """Tokens where all ranks of ``keys`` have them, else the time of products."""
    known = pl.col("tokens").null_count().over(keys) == 0
    return pl.when(known).then(pl.col("tokens")).otherwise(pl.col("product_ns")).cast(pl.Float64)


def loads_table(loads: ExpertLoads) -> Table:
    """One row per layer, direction and worker; where these are too many those of the workers with
    the largest loads."""
    per_layer = (
        loads.passes.group_by(*_LAYER, "worker", "set", maintain_order=True)
        .agg(
            pl.col("number").min(),
            pl.col("tokens").mean(),
            pl.col("tokens").null_count().alias("unknown"),
            pl.col("product_ns").mean(),
        )
        .with_columns(tokens=pl.when(pl.col("unknown") == 0).then("tokens"))
        .with_columns(load=_load(*_LAYER, "set"))
        .with_columns(load_ratio=_to_mean("load", *_LAYER, "set"))
        .sort("stage", "number", "worker", maintain_order=True)
    )
    layers = max(per_layer.select(*_LAYER).unique().height, 1)
    most = max(MAX_LOADS // layers, 1)
    if per_layer["worker"].n_unique() > most:
        heaviest = per_layer.group_by("worker").agg(pl.col("load_ratio").max())
        chosen = heaviest.sort("load_ratio", "worker", descending=[True, False]).head(most)
        per_layer = per_layer.filter(pl.col("worker").is_in(chosen["worker"].to_list()))
    rows = per_layer.with_columns(
        worker=_names(loads, "worker"), product_us=pl.col("product_ns") / NS_PER_US
    )
    return _filled(LOADS, rows)


def experts_table(loads: ExpertLoads, traces: Mapping[str, Trace]) -> Table:
    """One row per rank that tokens are sent to, and per expert whose tokens are listed."""
    steps = pl.Series(loads.steps, dtype=pl.Int64)
    ranks = pl.Series([own_rank(traces[name]) for name in loads.workers], dtype=pl.Int64)
    is_rank = pl.col("kind") == RANK
    shares = loads.shares.with_columns(
        number=pl.int_ranges(pl.col("tokens").list.len()),
        steps=steps.gather(loads.shares["worker"]),
        own=ranks.gather(loads.shares["worker"]),
        # An expert belongs to its rank; a receiver to the group of those that send to it.
        owner=pl.when(is_rank).then(None).otherwise(pl.col("worker")),
    ).explode("tokens", "number")
    keys = ["kind", "group_key", "owner"]
    members = pl.col("group_key").str.extract(r"\|\[([\d,]*)").str.split(",")
    rows = (
        shares.group_by(*keys, "number", maintain_order=True)
        .agg(
            (pl.col("tokens") / pl.col("steps")).sum(),
            pl.col("worker").n_unique().cast(pl.Int64).alias("senders"),
            pl.col("own").first(),
        )
        .with_columns(
            receiver=pl.col("kind"),
            group=pl.col("group_key").str.extract(r"^([^|]*)\|"),
            rank=pl.when(is_rank)
            .then(members.list.get(pl.col("number"), null_on_oob=True).cast(pl.Int64, strict=False))
            .otherwise("own"),
            expert=pl.when(~is_rank).then("number"),
            senders=pl.when(is_rank).then("senders"),
            token_ratio=_to_mean("tokens", *keys),
        )
        .sort("token_ratio", descending=True, nulls_last=True, maintain_order=True)
    )
    return _filled(EXPERTS, rows)


def kernels_table(loads: ExpertLoads) -> Table:
    """One row per kernel and stage: means per step and worker."""
    steps = max(sum(loads.steps), 1)
    rows = (
        loads.kernels.group_by("stage", "kernel", maintain_order=True)
        .agg(
            pl.col("worker").n_unique().cast(pl.Int64).alias("workers"),
            (pl.col("calls").sum() / steps).alias("calls"),
            (pl.col("total_ns").sum() / (steps * NS_PER_US)).alias("total_us"),
            pl.when(pl.col("exposed_ns").count() > 0)
            .then(pl.col("exposed_ns").sum() / (steps * NS_PER_US))
            .alias("exposed_us"),
        )
        .sort("total_us", descending=True, maintain_order=True)
        .with_columns(total_pct=pl.col("total_us") / pl.col("total_us").sum() * 100)
    )
    return _filled(KERNELS, rows)


def _ratio(one: str, other: str) -> pl.Expr:
    return pl.when(pl.col(other) > 0).then(pl.col(one) / pl.col(other))


def _to_mean(key: str, *keys: str) -> pl.Expr:
    """A value divided by its mean over the rows of equal ``keys``; null for one row alone, and
    where that of any is unknown."""
    mean = pl.col(key).mean().over(keys)
    known = (pl.len().over(keys) > 1) & (pl.col(key).null_count().over(keys) == 0)
    return pl.when(known & (mean > 0)).then(pl.col(key) / mean)


def _names(loads: ExpertLoads, key: str) -> pl.Expr:
    return pl.col(key).replace_strict(
        dict(enumerate(loads.workers)), default=None, return_dtype=pl.String
    )


def _filled(spec: TableSpec, rows: pl.DataFrame) -> Table:
    frame = rows.select(pl.col(key).cast(dtype) for key, dtype in spec.polars_schema().items())
    return Table(spec, frame, needed(frame, _reasons(spec.columns)))


def _reasons(columns: tuple[Column, ...]) -> dict[str, str]:
    return {
        column.key: column.null_reason for column in columns if isinstance(column.null_reason, str)
    }
