"""Some ranks compute more tokens of a mixture of experts than others, which wait for them."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.experts.balance import ExpertLoads, expert_loads, pass_costs
from torch_tb_profiler.analysis.experts.facts import expert_pass_facts
from torch_tb_profiler.analysis.experts.sets import expert_sets
from torch_tb_profiler.analysis.steps.selected_collectives import selected_windows
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.quality_notes import is_cut_short, listed
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "expert_imbalance"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "Layers of experts that are out of balance",
    "One row per layer of experts, the one that costs the most first.",
    (
        Column("stage", "Stage", "integer", None, "Stage of the pipeline, from 0; else empty."),
        Column("layer", "Layer", "string", None, "The layer, or the number of the pass."),
        Column("busiest", "Busiest", "string", None, "The worker with the largest load."),
        Column(
            "imbalance",
            "Imbalance",
            "number",
            "ratio",
            "Largest load of a rank divided by the mean: tokens where known, else time.",
        ),
        Column(
            "cost_us",
            "Cost",
            "number",
            "us",
            "How long a rank waits on average per step for that worker.",
            estimated=True,
        ),
    ),
)


def detect_across_workers(contexts: Mapping[str, Context]) -> Finding | None:
    """The largest loads of the passes are above the mean loads by more than the threshold, and
    waiting for them takes a share of the step that is worth something; recordings that were cut
    short are not compared.

    No gain is estimated, as another placement of experts cannot be tried: what the waits take is at
    stake.
    """
    whole = {name: each for name, each in contexts.items() if not is_cut_short(each.trace)}
    traces = in_rank_order({name: each.trace for name, each in whole.items()})
    if len(traces) < 2 or not any(expert_pass_facts(trace).height for trace in traces.values()):
        return None
    selection = next(iter(whole.values())).selection
    windows = selected_windows(traces, selection)
    loads = expert_loads(traces, windows, selection, expert_sets(traces))
    costs = _with_load(pass_costs(loads).filter(pl.col("ranks") > 1))
    mean = float(costs["mean"].sum())
    if mean <= 0:
        return None
    measured = (float(costs["max"].sum()) / mean - 1) * 100
    cost_us = float(costs["cost_ns"].sum()) / _set_steps(costs) / NS_PER_US
    step_us = sum(loads.step_ns) / max(sum(loads.steps), 1) / NS_PER_US
    cost_pct = cost_us / step_us * 100 if step_us else 0.0
    known = entry(CODE)
    if measured <= known.threshold or cost_pct < known.parameters["min_cost_pct"]:
        return None
    least_pct = known.parameters["steady_pct"]
    busiest, share = _most_often(costs, least_pct)
    return Finding(
        CODE,
        measured,
        None,
        build_table(EVIDENCE, _rows(costs, loads)),
        values={
            "busiest": listed([loads.workers[worker] for worker in busiest]),
            "share": share,
            "what": "tokens" if costs["by_tokens"].all() else "time of expert GEMMs",
            "cost": cost_pct,
        },
        source={"view": "experts", "table": "expert_layers", "sort": "-cost_us"},
        variant="default" if share >= least_pct else "turns",
        at_stake_us=cost_us,
    )


def _with_load(costs: pl.DataFrame) -> pl.DataFrame:
    """The passes with ``max`` and ``mean`` of what is compared, and the worker with the most."""
    by_tokens = pl.col("tokens_max").is_not_null()
    return costs.with_columns(
        by_tokens=by_tokens,
        max=pl.when(by_tokens).then("tokens_max").otherwise("product_max_ns").cast(pl.Float64),
        mean=pl.when(by_tokens).then("tokens_mean").otherwise("product_mean_ns"),
        leader=pl.coalesce("busiest_tokens", "busiest"),
    )


def _set_steps(costs: pl.DataFrame) -> int:
    return max(costs.select("window", "set").unique().height, 1)


def _most_often(costs: pl.DataFrame, least_pct: float) -> tuple[list[int], float]:
    """The workers that have the largest load in at least so many of the passes of their set, else
    the one that has it most often, and the smallest share of these in %."""
    shares = (
        costs.with_columns(count=pl.len().over("set"))
        .group_by("leader", "set")
        .agg((pl.len() / pl.col("count").first() * 100).alias("share"))
        .sort("share", "leader", descending=[True, False])
    )
    steady = shares.filter(pl.col("share") >= least_pct)
    leaders = steady if steady.height else shares.head(1)
    return sorted(leaders["leader"].to_list()), float(leaders["share"].to_numpy().min())


def _rows(costs: pl.DataFrame, loads: ExpertLoads) -> pl.DataFrame:
    names = dict(enumerate(loads.workers))
    return (
        costs.group_by("stage", "layer", maintain_order=True)
        .agg(
            pl.col("leader").mode().sort().first(),
            (pl.col("max").sum() / pl.col("mean").sum()).alias("imbalance"),
            (pl.col("cost_ns").mean() / NS_PER_US).alias("cost_us"),
        )
        .sort("cost_us", descending=True, maintain_order=True)
        .head(MAX_ROWS)
        .with_columns(busiest=pl.col("leader").replace_strict(names, return_dtype=pl.String))
    )
