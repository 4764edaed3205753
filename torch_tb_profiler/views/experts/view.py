"""Experts: tokens and time of a mixture of experts, their balance, dispatch and combine.

Definitions: ``docs/views-experts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.experts.balance import ExpertLoads, expert_loads, pass_costs
from torch_tb_profiler.analysis.experts.facts import expert_kernel_facts, expert_pass_facts
from torch_tb_profiler.analysis.experts.sets import expert_sets
from torch_tb_profiler.analysis.experts.stages import TITLES, Stage
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import selected_windows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.experts.answer import answer
from torch_tb_profiler.views.experts.columns import (
    EXPERTS,
    KERNELS,
    LAYERS,
    LOADS,
    NO_EXCHANGE,
    NO_TOKENS,
    ONE_RANK,
    RANKS,
)
from torch_tb_profiler.views.experts.notes import expert_notes
from torch_tb_profiler.views.experts.tables import (
    experts_table,
    kernels_table,
    layers_table,
    loads_table,
    rank_totals,
    ranks_table,
)
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.programs import largest_program, program_notes
from torch_tb_profiler.views.schema import Fact, View
from torch_tb_profiler.views.spec import ViewSpec

NOTHING = (
    "The recording holds no mixture of experts: no grouped GEMMs, dispatch, combine or range "
    "around a layer of experts."
)


def experts(traces: Mapping[str, Trace], selection: Selection) -> View:
    """The experts of the workers of one run and span, of its largest program; one worker is enough.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    everything, traces = traces, in_rank_order(largest_program(traces))
    windows = selected_windows(traces, selection)
    loads = expert_loads(traces, windows, selection, expert_sets(traces))
    costs, totals = pass_costs(loads), rank_totals(loads)
    tables = (
        layers_table(loads, costs),
        ranks_table(loads, totals, traces),
        experts_table(loads, traces),
        kernels_table(loads),
        loads_table(loads),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        facts=_facts(loads, costs, totals),
        notes=program_notes(everything, traces) + expert_notes(traces, loads, selection),
    )


def _facts(loads: ExpertLoads, costs: pl.DataFrame, ranks: pl.DataFrame) -> tuple[Fact, ...]:
    exchange = ranks.select(
        all_us=pl.col("dispatch_us") + pl.col("combine_us"),
        exposed_us=pl.col("dispatch_exposed_us") + pl.col("combine_exposed_us"),
    )
    all_us, exposed_us = (exchange[key].mean() for key in ("all_us", "exposed_us"))
    whole = all_us if isinstance(all_us, float) and all_us > 0 else None
    exposed = exposed_us if whole is not None and isinstance(exposed_us, float) else None
    cost_us = _cost_us(costs)
    step_us = sum(loads.step_ns) / max(sum(loads.steps), 1) / NS_PER_US
    tokens, time = (_maximum(ranks, key) for key in ("token_ratio", "time_ratio"))
    unknown = _unrecognized_pct(loads)
    return (
        Fact(
            "token_imbalance",
            "Token imbalance",
            tokens,
            "ratio",
            None,
            "Most tokens of a rank over all layers, divided by the mean of the ranks that share "
            "experts.",
            None if tokens is not None else f"{ONE_RANK} {NO_TOKENS}",
        ),
        Fact(
            "time_imbalance",
            "Time imbalance",
            time,
            "ratio",
            None,
            "The same of the time of expert GEMMs.",
            None if time is not None else ONE_RANK,
        ),
        Fact(
            "imbalance_cost_us",
            "Cost of imbalance (est.)",
            cost_us,
            "us",
            None,
            "How long a rank waits on average per step for the ranks with the longest GEMMs of "
            "each layer; at most the exposed time of its dispatch and combine.",
            None if cost_us is not None else ONE_RANK,
        ),
        Fact(
            "imbalance_cost_pct",
            "Cost of imbalance (est.)",
            None if cost_us is None or not step_us else min(cost_us / step_us * 100, 100.0),
            "pct",
            None,
            "The same as a share of the step.",
            None if cost_us is not None else ONE_RANK,
        ),
        Fact(
            "exchange_us",
            "Dispatch and combine",
            None if exposed is None else whole,
            "us",
            None,
            "Time of dispatch and combine per step; mean of the ranks.",
            None if exposed is not None else NO_EXCHANGE,
        ),
        Fact(
            "exchange_exposed_us",
            "Dispatch and combine, exposed",
            exposed,
            "us",
            None,
            "Of that, the time in which nothing computes; mean of the ranks.",
            None if exposed is not None else NO_EXCHANGE,
        ),
        Fact(
            "unrecognized_pct",
            "Not recognized",
            unknown,
            "pct",
            None,
            "Share of the kernel time inside ranges of layers of experts in kernels that no rule "
            "names: activations, norms, shared experts.",
            None if unknown is not None else "No range around a layer of experts is recorded.",
        ),
    )


def _maximum(frame: pl.DataFrame, key: str) -> float | None:
    value = frame[key].max()
    return value if isinstance(value, float) else None


def _cost_us(passes: pl.DataFrame) -> float | None:
    """The mean cost of a step of a set of ranks; None without ranks to compare."""
    costs = passes.filter(pl.col("ranks") > 1)
    if not costs.height:
        return None
    steps = costs.select("window", "set").unique().height
    return float(costs["cost_ns"].sum()) / steps / NS_PER_US


def _unrecognized_pct(loads: ExpertLoads) -> float | None:
    unknown = pl.col("stage") == TITLES[Stage.OTHER]
    times = loads.kernels.filter(pl.col("exposed_ns").is_null())
    part = int(times.filter(unknown)["total_ns"].sum())
    whole = int(times["total_ns"].sum())
    return part / whole * 100 if part and whole else None


def _missing(trace: Trace) -> str | None:
    if expert_pass_facts(trace).height or expert_kernel_facts(trace).height:
        return None
    # Where kernels are recorded, no option would add experts.
    return NOTHING if trace.device_work.height else missing_reason(trace, "kernels", NOTHING)


SPEC = ViewSpec(
    name="experts",
    title="Distributed: Experts",
    help="Are the experts balanced, and is their dispatch and combine hidden?",
    scope="run",
    tables=(LAYERS, RANKS, EXPERTS, KERNELS, LOADS),
    function=experts,
    missing=_missing,
    reads_summaries=True,
    answer=answer,
    leading_facts=("token_imbalance", "imbalance_cost_pct", "exchange_exposed_us"),
)
