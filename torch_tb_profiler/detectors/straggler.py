"""One worker keeps arriving last at collectives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.communication.arrivals import arrivals
from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.steps.selected_collectives import selected_matching
from torch_tb_profiler.evidence.collective_waits import exposed_arrivals, latest_arrival
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.rank_cause import cause_of_worker
from torch_tb_profiler.evidence.worker_means import means_per_step
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.collectives import STRAGGLERS, stragglers_table
from torch_tb_profiler.views.quality_notes import is_cut_short

CODE = "straggler"
EVIDENCE = STRAGGLERS


def detect_across_workers(contexts: Mapping[str, Context]) -> Finding | None:
    """The worst straggler, which waits clearly less than the others, delays them in the collectives
    of the steps by more than the threshold of their mean step. The gain is the exposed part of that
    delay; where the comparison of the ranks says why the worker is late, the text does too, and the
    gain is what that costs.

    A recording that was cut short is not compared: calls whose end is missing look short, as if the
    worker had arrived last.
    """
    traces = {worker: context.trace for worker, context in contexts.items()}
    first = next(iter(contexts.values()))
    matching = selected_matching(traces, first.selection)
    rows = _in_steps(arrivals(matching), matching, contexts)
    worst = _worst(rows, matching, traces)
    if worst is None:
        return None
    worker, context = matching.workers[worst], contexts[matching.workers[worst]]
    others = [contexts[name] for name in matching.workers if name != worker]
    late = rows.filter((pl.col("worker") == worst) & pl.col("is_last"))
    delay_ns = float(late["delay_ns"].sum()) / float(np.mean([each.step_count for each in others]))
    share = delay_ns / float(np.mean([each.step_ns for each in others])) * 100
    if share <= entry(CODE).threshold:
        return None
    waits = rows.filter(
        pl.col("match").is_in(late["match"].implode()) & (pl.col("worker") != worst)
    )
    cause = cause_of_worker(traces, first.selection, worker)
    gain_ns = cause.cost_ns if cause is not None else None
    if gain_ns is None:
        gain_ns = min(delay_ns, _exposed_ns(waits, matching, contexts) / len(others))
    return Finding(
        CODE,
        share,
        gain_ns / NS_PER_US or None,
        values={
            "worker": worker,
            "arrived_last_pct": late.height / rows.filter(pl.col("worker") == worst).height * 100,
            "because": "" if cause is None else cause.clause,
        },
        evidence=stragglers_table(matching),
        source={"view": "distributed", "table": "stragglers", "sort": "-delay_us"},
        architecture=context.architecture_name,
        variant="default" if cause is None else "caused",
        spot=latest_arrival(rows, worst, matching, contexts),
        at_stake_us=max(delay_ns, gain_ns) / NS_PER_US,
    )


def _in_steps(
    rows: pl.DataFrame, matching: Matching, contexts: Mapping[str, Context]
) -> pl.DataFrame:
    """The arrivals that start in the steps of their worker."""
    rows = rows.sort("worker", maintain_order=True)
    worker, start = rows["worker"].to_numpy(), rows["start_ns"].to_numpy()
    edges = np.searchsorted(worker, np.arange(len(matching.workers) + 1)).tolist()
    inside = [
        contexts[name].inside(start[first:last])
        for name, first, last in zip(matching.workers, edges, edges[1:], strict=False)
    ]
    return rows.filter(pl.Series(np.concatenate(inside)))


def _worst(rows: pl.DataFrame, matching: Matching, traces: Mapping[str, Trace]) -> int | None:
    """The number of the worker that caused the longest delay, of those that wait little themselves;
    None without any."""
    prompt = _workers_with_little_wait(rows)
    whole = [
        number for number, worker in enumerate(matching.workers) if not is_cut_short(traces[worker])
    ]
    delays = (
        rows.filter(
            pl.col("is_last") & pl.col("worker").is_in(whole) & pl.col("worker").is_in(prompt)
        )
        .group_by("worker")
        .agg(pl.col("delay_ns").sum())
        .filter(pl.col("delay_ns") > 0)
        .sort("delay_ns", "worker", descending=[True, False])
    )
    return None if delays.is_empty() else int(delays["worker"][0])


def _workers_with_little_wait(rows: pl.DataFrame) -> list[int]:
    """The workers that wait clearly less than the mean of the others: a worker that waits as long
    arrives last in turns with them."""
    waits = rows.group_by("worker").agg(pl.col("wait_ns").sum())
    own = pl.col("wait_ns")
    others = (own.sum() - own) / max(waits.height - 1, 1)
    most = entry(CODE).parameters["max_own_wait_share"]
    workers: list[int] = waits.filter(own <= most * others)["worker"].to_list()
    return workers


def _exposed_ns(waits: pl.DataFrame, matching: Matching, contexts: Mapping[str, Context]) -> float:
    """The time per step, summed over the waiting workers, in which the delays are exposed."""
    parts = waits.partition_by("worker", as_dict=True)
    waiting = [contexts[matching.workers[number]] for (number,) in parts]
    exposed = [
        exposed_arrivals(context.trace, part, "delay_ns")
        for context, part in zip(waiting, parts.values(), strict=True)
    ]
    return float(sum(means_per_step(waiting, exposed).tolist()))
