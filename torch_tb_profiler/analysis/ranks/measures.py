"""The measures of each rank over the selected steps, for all ranks in one batch.

Means are over whole steps (``docs/metrics.md#steps``), or over all where a rank has no whole one.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.ranks.device_use import DEVICE_USE, device_use
from torch_tb_profiler.analysis.ranks.phases import RANK_PHASES, rank_phases
from torch_tb_profiler.analysis.ranks.selected_steps import facts_of_ranks
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.trace.model import Trace

TIMES = (
    "computation_ns",
    "communication_ns",
    "exposed_communication_ns",
    "idle_ns",
    "input_wait_ns",
    "host_wait_ns",
    "pause_ns",
)
"""Times of a step of which a rank has the mean, ns."""

PHASES = tuple(phase.name.lower() for phase in Phase)
"""The names of the phases, in the order of :class:`Phase`."""


def averaged_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """Of the selected steps those that means are over."""
    whole = pl.col("is_whole") | ~pl.col("is_whole").any().over("worker")
    return steps.filter(whole)


def rank_measures(traces: Mapping[str, Trace], steps: pl.DataFrame) -> pl.DataFrame:
    """One row per rank, in order.

    Args:
        traces: All ranks of a run.
        steps: The steps of :func:`averaged_steps`.

    Returns:
        ``worker`` (position), ``steps`` (count), ``step_ns``, ``longest_step_ns``, :data:`TIMES`
        (means), ``kernels`` (mean), ``memory_peak_bytes`` (the largest), ``utilization_pct``,
        and of every phase ``<phase>_ns`` (mean host time) and ``<phase>_busy_pct`` (part of it in
        which a device ran something); null where the recording has no such value.
    """
    workers = pl.DataFrame({"worker": pl.int_range(len(traces), dtype=pl.Int32, eager=True)})
    by_rank = steps.group_by("worker").agg(
        pl.len().cast(pl.Int64).alias("steps"),
        pl.col("duration_ns").mean().alias("step_ns"),
        pl.col("duration_ns").max().alias("longest_step_ns"),
        pl.col("duration_ns").sum().alias("sum_ns"),
        pl.col(*TIMES, "kernels").mean(),
        pl.col("memory_peak_bytes").max(),
    )
    joined = (
        workers.join(by_rank, on="worker", how="left", maintain_order="left")
        .join(_utilization(traces, steps), on="worker", how="left", maintain_order="left")
        .join(_phases(traces, steps), on="worker", how="left", maintain_order="left")
    )
    share = pl.col("kernel_ns") / pl.col("devices") / pl.col("sum_ns") * 100
    return joined.with_columns(
        utilization_pct=pl.when(pl.col("sum_ns") > 0).then(share),
        kernels=pl.when(pl.col("devices") > 0).then("kernels"),
    ).drop("kernel_ns", "devices", "sum_ns")


def _utilization(traces: Mapping[str, Trace], steps: pl.DataFrame) -> pl.DataFrame:
    """Per rank the kernel time of all its devices in ``steps``, and how many ran work."""
    rows = facts_of_ranks(traces, device_use, DEVICE_USE)
    devices = rows.group_by("worker").agg(pl.col("device").n_unique().alias("devices"))
    used = rows.join(steps.select("worker", "step"), on=["worker", "step"], how="semi")
    return devices.join(
        used.group_by("worker").agg(pl.col("kernel_ns").sum()), on="worker", how="left"
    )


def _phases(traces: Mapping[str, Trace], steps: pl.DataFrame) -> pl.DataFrame:
    """Per rank ``<phase>_ns`` and ``<phase>_busy_pct``; null where a rank has no such phase."""
    rows = facts_of_ranks(traces, rank_phases, RANK_PHASES)
    chosen = rows.join(steps.select("worker", "step"), on=["worker", "step"], how="semi")
    counts = steps.group_by("worker").agg(pl.len().alias("steps"))
    by_phase = chosen.group_by("worker", "phase").agg(pl.col("host_ns", "busy_ns").sum())
    frame = counts.select("worker", "steps")
    for number, name in enumerate(PHASES):
        own = by_phase.filter(pl.col("phase") == number).select(
            "worker",
            pl.col("host_ns").alias(f"{name}_sum"),
            pl.when(pl.col("host_ns") > 0)
            .then(pl.col("busy_ns") / pl.col("host_ns") * 100)
            .alias(f"{name}_busy_pct"),
        )
        frame = frame.join(own, on="worker", how="left").with_columns(
            (pl.col(f"{name}_sum") / pl.col("steps")).alias(f"{name}_ns")
        )
    columns = [f"{name}_{kind}" for name in PHASES for kind in ("ns", "busy_pct")]
    return frame.select("worker", *columns)
