"""The table of stages, of MindData's files or of a timeline."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.data_loading import classify_operation
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.data.columns import NOT_IN_TRACE, STAGE_NAMES, STAGES
from torch_tb_profiler.views.data.loader import LoaderWaits
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table

IN_TRACE = "timeline"
NO_WORKERS = "The number of workers was not recorded."
NO_LOADER = "Only torch-tb-profiler record records it."
NO_SOURCE = "Not recorded."
_OF_WORKERS = ("fetch", "transform", "collate")


def stages_table(trace: Trace, queues: pl.DataFrame, waits: LoaderWaits | None) -> Table:
    """A row per stage with known times or workers; ``queues``: the selected rows of the side
    table."""
    times = _times_of_queues(queues)
    sources = dict.fromkeys(times, trace.side["queues"].source if "queues" in trace.side else "")
    if waits is not None:
        times["wait"] = pl.Series(waits.calls_ns / NS_PER_US, dtype=pl.Float64)
        sources["wait"] = IN_TRACE
    workers = _workers(trace)
    if "pipeline" in trace.side:
        sources = dict.fromkeys(workers, trace.side["pipeline"].source) | sources
    rows = []
    for stage in STAGE_NAMES:
        stage_times = times.get(stage)
        if stage_times is None and stage not in workers:
            continue
        has_calls = stage_times is not None and len(stage_times) > 0
        rows.append(
            {
                "stage": stage,
                "calls": None if stage_times is None else len(stage_times),
                "time_total_us": stage_times.sum()
                if stage_times is not None and has_calls
                else None,
                "time_mean_us": stage_times.mean()
                if stage_times is not None and has_calls
                else None,
                "time_min_us": stage_times.min() if stage_times is not None and has_calls else None,
                "time_max_us": stage_times.max() if stage_times is not None and has_calls else None,
                "loader": None,
                "phase": None,
                "workers": workers.get(stage),
                "busy_pct": None,
                "work_pct": None,
                "bottleneck": None,
                "source": sources.get(stage),
            }
        )
    frame = pl.DataFrame(rows, schema=STAGES.polars_schema())
    reasons = dict.fromkeys(
        ("calls", *(f"time_{key}_us" for key in ("total", "mean", "min", "max"))), NOT_IN_TRACE
    )
    reasons |= {"workers": NO_WORKERS, "source": NO_SOURCE}
    reasons |= dict.fromkeys(("loader", "phase", "busy_pct", "work_pct", "bottleneck"), NO_LOADER)
    return Table(STAGES, frame, needed(frame, reasons))


def _times_of_queues(queues: pl.DataFrame) -> dict[str, pl.Series]:
    """Stage → the times of its batches. Where nobody sends from the queue on the host, the program
    takes from it itself, and waits."""
    host, device = (queues.filter(queue=name) for name in ("host", "device"))
    got, pushed = host["get_us"].drop_nulls(), host["push_us"].drop_nulls()
    of_device = device["total_us"].drop_nulls()
    times = {"transfer": pushed, "wait": of_device, "pipeline": got}
    if not len(pushed) and not len(of_device):
        times = {"wait": got}
    return {stage: series for stage, series in times.items() if len(series)}


def _workers(trace: Trace) -> dict[str, int]:
    """Stage → workers: of the operations of a pipeline, else of the program's data loader."""
    if "pipeline" in trace.side:
        workers: dict[str, int] = {}
        for kind, count in trace.side["pipeline"].frame.select("type", "workers").rows():
            operation = classify_operation(kind or "")
            if count is not None and operation.kind != "control":
                workers[operation.stage] = workers.get(operation.stage, 0) + count
        return workers
    of_loader = trace.meta.info.settings.loader_workers
    return {} if of_loader is None else dict.fromkeys(_OF_WORKERS, of_loader)
