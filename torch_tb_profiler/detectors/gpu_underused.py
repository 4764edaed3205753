"""A GPU computes far less than the others, or is idle."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.recording.kernel_kinds import communication_slices, kernel_kinds
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.gpu_balance import (
    GPUS,
    busy_ns_of_workers,
    gpu_rows,
    gpu_table,
    is_imbalanced,
)
from torch_tb_profiler.evidence.program import is_distributed, is_training
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.collectives import ALL_STEPS
from torch_tb_profiler.views.quality_notes import is_cut_short

CODE = "gpu_underused"
FIRST = 0
"""The GPU of a program that selects none. If only others work, they were selected: usually by a
launcher that assigned the rest to other processes."""
EVIDENCE = gpu_table(CODE, "One row per GPU, the one used least first.")


def detect(context: Context) -> Finding | None:
    """A GPU of the process computes less than the threshold of the median of the others, and
    ``gpu_imbalance`` is no finding; or training in one process leaves visible GPUs idle."""
    time = context.compute_intervals
    busy = {f"GPU {gpu}": context.per_step_ns(spans) for gpu, spans in time.items()}
    if busy and FIRST in time and _is_alone(context):
        idle = context.trace.devices.filter(~pl.col("used"))["device"].to_list()
        if idle:
            return _unused(context, busy, [f"GPU {gpu}" for gpu in idle])
    return _least(busy, GPUS, context.architecture_name)


def detect_across_workers(contexts: Mapping[str, Context]) -> Finding | None:
    """The same over the GPUs with work of all workers; recordings that were cut short are not
    compared."""
    whole = {name: each for name, each in contexts.items() if not is_cut_short(each.trace)}
    busy = busy_ns_of_workers(whole)
    source = {"view": "distributed", "table": "overlap", "filter": f"step={ALL_STEPS}"}
    finding = _least(busy, {**source, "sort": "computation_us"}, None)
    if finding is None:
        return None
    worker = str(finding.values["least"]).rpartition(" GPU ")[0]
    windows = whole[worker].windows
    spot = whole[worker].spot(windows.start_ns[0], windows.end_ns[0], None, worker)
    return replace(finding, spot=spot)


def _least(
    busy_ns: Mapping[str, float], source: Mapping[str, str], architecture: str | None
) -> Finding | None:
    if len(busy_ns) < 2 or is_imbalanced(busy_ns):
        return None
    least = min(busy_ns, key=lambda name: busy_ns[name])
    usual = median(ns for name, ns in busy_ns.items() if name != least)
    share = busy_ns[least] / usual * 100 if usual > 0 else 100.0
    if share >= entry(CODE).threshold:
        return None
    return _finding(busy_ns, share, {"least": least}, source, architecture)


def _is_alone(context: Context) -> bool:
    """Whether this is training in one process: several processes have a GPU each, and inference
    usually needs no more than one."""
    trace = context.trace
    job = trace.meta.info.job
    size = job.world_size if job else None
    is_one = size == 1 if size is not None else not is_distributed(trace)
    # A step without synchronization of gradients has no collective, but ranges or waits of one.
    communicates = communication_slices(trace).any() or kernel_kinds(trace).is_communication.any()
    return is_one and is_training(trace) and not communicates and not len(records(trace).record)


def _unused(context: Context, busy_ns: Mapping[str, float], idle: list[str]) -> Finding:
    every = {**busy_ns, **dict.fromkeys(idle, 0.0)}
    counts = {"idle": len(idle), "all": len(every)}
    finding = _finding(every, 0.0, counts, GPUS, context.architecture_name)
    windows = context.windows
    return replace(
        finding, variant="unused", spot=context.spot(windows.start_ns[0], windows.end_ns[0])
    )


def _finding(
    busy_ns: Mapping[str, float],
    share: float,
    values: Mapping[str, object],
    source: Mapping[str, str],
    architecture: str | None,
) -> Finding:
    return Finding(
        CODE,
        share,
        None,
        values=values,
        evidence=gpu_rows(EVIDENCE, sorted(busy_ns.items(), key=lambda item: item[1])),
        source=source,
        architecture=architecture,
    )
