"""Recorded loaders as pipelines: what a batch goes through, and how busy each of it is."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.steps.data_loading.diagnosis import MODEL
from torch_tb_profiler.analysis.steps.data_loading.summary import IN_WORKER, Loading
from torch_tb_profiler.views.data.columns import PIPELINE
from torch_tb_profiler.views.data.loader_stages import Judged, is_slow
from torch_tb_profiler.views.loader_diagnosis import phase_title
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table

NO_QUEUE = "The stage has no output queue."
NO_CPU = "CPU is sampled per worker, not per stage."
NO_TIME = "Not measured."
NO_WORKERS = "Steps are not loader work, or the number of workers was not recorded."


def loader_pipeline_table(judged: Judged) -> Table:
    """A chain per loader: the steps it feeds, and the stages before them, last one first."""
    rows: list[dict[str, object]] = []
    for loading, result in judged:
        name = f"loader {loading.loader}, {phase_title(loading.phase)}"
        parent = f"{name}: steps"
        rows.append(
            _row(
                parent,
                "steps",
                None,
                time_mean_us=max(loading.model_us, 0.0),
                busy_pct=100 - loading.wait_pct,
                bottleneck=result.kind == MODEL,
            )
        )
        stages = [*(["pin"] if "pin" in loading.stages else []), *reversed(IN_WORKER)]
        for stage in stages:
            times = loading.stages.get(stage)
            if times is None:
                continue
            queue = _queue(loading) if parent.endswith(": steps") else {}
            rows.append(
                _row(
                    f"{name}: {stage}",
                    stage,
                    parent,
                    workers=loading.workers_of(stage),
                    time_mean_us=times.mean_us,
                    busy_pct=loading.busy_pct(stage),
                    bottleneck=is_slow(result, stage),
                    **queue,
                )
            )
            parent = f"{name}: {stage}"
    frame = pl.DataFrame(rows, schema=PIPELINE.polars_schema())
    queues = ("queue_pct", "queue_mean", "queue_capacity", "queue_empty_pct")
    reasons = dict.fromkeys(queues, NO_QUEUE) | {"cpu_pct": NO_CPU}
    reasons |= dict.fromkeys(("time_mean_us", "busy_pct"), NO_TIME) | {"workers": NO_WORKERS}
    return Table(PIPELINE, frame, needed(frame, reasons))


def _queue(loading: Loading) -> dict[str, object]:
    if loading.capacity is None or loading.fill_pct is None:
        return {}
    return {
        "queue_pct": loading.fill_pct,
        "queue_mean": loading.fill_pct / 100 * loading.capacity,
        "queue_capacity": loading.capacity,
        "queue_empty_pct": loading.empty_pct,
    }


def _row(operation: str, kind: str, parent: str | None, **values: object) -> dict[str, object]:
    empty = dict.fromkeys(PIPELINE.polars_schema())
    return empty | {"operation": operation, "type": kind, "parent": parent} | values
