"""Balance of the compute time between GPUs, of one process or of all workers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.tables import COMPUTE_US_PER_STEP, build_table
from torch_tb_profiler.evidence.worker_means import gpu_times, means_per_step
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, Table, TableSpec

GPUS = {"view": "overview", "table": "gpus", "sort": "-utilization_pct"}
"""The rows of a view with the GPUs of one process."""


def gpu_table(code: str, help_text: str) -> TableSpec:
    """The evidence table of a finding that compares GPUs."""
    gpu = Column("gpu", "GPU", "string", None, "The GPU; for runs with its worker.")
    return TableSpec(code, "Compute time", help_text, (gpu, COMPUTE_US_PER_STEP))


def gpu_rows(spec: TableSpec, busy_ns: Iterable[tuple[str, float]]) -> Table:
    """The evidence from the compute time per step of each GPU, in the given order."""
    rows = [(name, ns / NS_PER_US) for name, ns in busy_ns]
    return build_table(spec, pl.DataFrame(rows, schema=spec.polars_schema(), orient="row"))


def busy_ns_of_workers(contexts: Mapping[str, Context]) -> dict[str, float]:
    """The compute time per step of each GPU of some workers, by ``"WORKER GPU N"``."""
    gpus = gpu_times(contexts)
    names = [f"{worker} GPU {gpu}" for worker, gpu, _ in gpus]
    owners = [contexts[worker] for worker, _, _ in gpus]
    busy_ns = means_per_step(owners, [time for _, _, time in gpus])
    return dict(zip(names, busy_ns.tolist(), strict=True))


def lead_pct(busy_ns: Mapping[str, float]) -> float | None:
    """By how much the busiest GPU exceeds the mean, in percent; None for fewer than two GPUs, or if
    none computes."""
    if len(busy_ns) < 2:
        return None
    mean = sum(busy_ns.values()) / len(busy_ns)
    return None if mean <= 0 else (max(busy_ns.values()) / mean - 1) * 100


def is_imbalanced(busy_ns: Mapping[str, float]) -> bool:
    """Whether ``gpu_imbalance`` reports these GPUs."""
    lead = lead_pct(busy_ns)
    return lead is not None and lead > entry("gpu_imbalance").threshold
