"""GPUs (of one process, or of several workers) with unequal work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.evidence import COMPUTE_US_PER_STEP, filled
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.intervals import total, union
from torch_tb_profiler.analysis.kernel_kinds import kernel_kinds
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.distributed.columns import ALL_STEPS
from torch_tb_profiler.views.quality_notes import is_cut_short
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "gpu_imbalance"
EVIDENCE = TableSpec(
    CODE,
    "Compute time",
    "One row per GPU, the busiest first.",
    (
        Column("gpu", "GPU", "string", None, "The GPU, in a run with its worker."),
        COMPUTE_US_PER_STEP,
    ),
)
GPUS = {"view": "overview", "table": "gpus", "sort": "-utilization_pct"}


def detect(context: Context) -> Finding | None:
    """The busiest GPU of the process computes longer than the mean by more than the threshold."""
    busy = {f"GPU {gpu}": ns for gpu, ns in compute_ns(context).items()}
    return imbalance(busy, GPUS, context.architecture_name)


def detect_in_run(contexts: Mapping[str, Context]) -> Finding | None:
    """The busiest GPU of all workers computes longer than the mean by more than the threshold;
    recordings that were cut short are not compared."""
    busy = {
        f"{worker} GPU {gpu}": ns
        for worker, context in contexts.items()
        if not is_cut_short(context.trace)
        for gpu, ns in compute_ns(context).items()
    }
    source = {
        "view": "distributed",
        "table": "overlap",
        "filter": f"step={ALL_STEPS}",
        "sort": "-computation_us",
    }
    finding = imbalance(busy, source, None)
    if finding is None:
        return None
    architectures = {context.architecture_name for context in contexts.values()}
    return replace(finding, architecture=architectures.pop() if len(architectures) == 1 else None)


def compute_ns(context: Context) -> dict[int, float]:
    """Per GPU the time per step in which kernels other than communication ran."""
    work, kinds = context.trace.device_work, kernel_kinds(context.trace)
    device, start = indices(work["device"]), work["start_ns"].to_numpy()
    chosen = kinds.is_kernel & ~kinds.is_communication & (device >= 0) & context.inside(start)
    device, start, dur = device[chosen], start[chosen], work["dur_ns"].to_numpy()[chosen]
    busy = {}
    for gpu in np.unique(device).tolist():
        rows = device == gpu
        busy[gpu] = context.per_step(total(union(start[rows], start[rows] + dur[rows])))
    return busy


def imbalance(
    busy_ns: Mapping[str, float], source: Mapping[str, str], architecture: str | None
) -> Finding | None:
    """Advice from the compute time per step of each GPU; the gain is the busiest's lead over the
    mean: an even division would end the step that much earlier."""
    if len(busy_ns) < 2:
        return None
    mean = sum(busy_ns.values()) / len(busy_ns)
    busiest = max(busy_ns, key=lambda name: busy_ns[name])
    if mean <= 0:
        return None
    lead = (busy_ns[busiest] / mean - 1) * 100
    if lead <= entry(CODE).threshold:
        return None
    gpus = pl.DataFrame(
        [(name, ns / NS_PER_US) for name, ns in sorted(busy_ns.items(), key=lambda item: -item[1])],
        schema=EVIDENCE.polars_schema(),
        orient="row",
    )
    return Finding(
        CODE,
        lead,
        (busy_ns[busiest] - mean) / NS_PER_US,
        values={"busiest": busiest},
        evidence=filled(EVIDENCE, gpus),
        source=source,
        architecture=architecture,
    )
