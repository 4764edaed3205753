"""The tables of recorded loaders: their stages, and one row per loader."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.kernels.copies import copy_calls
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN, source_of
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import (
    HANDOVER,
    MODEL,
    PIN,
    START,
    Diagnosis,
)
from torch_tb_profiler.analysis.steps.data_loading.summary import (
    IN_WORKER,
    Loading,
    StageSummary,
    times_of,
)
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.data.columns import LOADERS, STAGE_NAMES, STAGES
from torch_tb_profiler.views.data.stages import IN_TRACE
from torch_tb_profiler.views.loader_diagnosis import loader_name, phase_title
from torch_tb_profiler.views.null_reasons import needed, recorded_or
from torch_tb_profiler.views.schema import Table

STAGES_OF_LOADER = tuple(name for name in STAGE_NAMES if name != "pipeline")

NO_TIME = (
    "Not measured. Transform: no call of transform, target_transform or transforms of the "
    "dataset was seen, so it is part of fetch. Pin: the loader does not pin memory. Transfer: no "
    "copies to a device were recorded."
)
NO_WORK = "Not loader work, or not measured."
NO_QUEUE = "No workers prefetch, or the system cannot count the ready batches."
NO_WORKERS_WORK = "The program loads without workers, or their work was not measured."
NO_CPU = "The CPU of the workers was not sampled, or the program loads without workers."
NO_SETTING = "The setting was not recorded, or does not apply without workers."

Judged = list[tuple[Loading, Diagnosis]]


def transfers(trace: Trace, selection: Selection) -> StageSummary | None:
    """Copies to devices in a selection; None where there are none.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = copy_calls(trace)
    if calls.is_empty():
        return None
    chosen = device_work_mask(trace, selection)[calls["row"].to_numpy()]
    sent = calls.filter(pl.Series(chosen) & (pl.col("kind") == "HtoD"))
    return times_of(sent["dur_ns"] / NS_PER_US)


def is_slow(result: Diagnosis, stage: str) -> bool:
    """Whether a stage holds up the steps."""
    if result.kind in (MODEL, START, HANDOVER):
        return False
    return stage == (PIN if result.kind == PIN else result.stage)


def loader_stages_table(trace: Trace, judged: Judged, sent: StageSummary | None) -> Table:
    """A row per stage of each loader; ``sent``: copies to devices, those of training."""
    source = source_of(trace)
    rows = []
    for index, (loading, result) in enumerate(judged):
        for stage in STAGES_OF_LOADER:
            times = loading.wait if stage == "wait" else loading.stages.get(stage)
            is_sent = stage == "transfer" and times is None and index == 0
            if is_sent and loading.phase == TRAIN:
                times = sent
            in_worker = stage in IN_WORKER and times is not None and loading.work_us > 0
            rows.append(
                {
                    "stage": stage,
                    "loader": loader_name(loading),
                    "phase": phase_title(loading.phase),
                    "calls": None if times is None else times.calls,
                    "time_total_us": None if times is None else times.total_us,
                    "time_mean_us": None if times is None else times.mean_us,
                    "time_min_us": None if times is None else times.min_us,
                    "time_max_us": None if times is None else times.max_us,
                    "workers": loading.workers_of(stage),
                    "busy_pct": loading.busy_pct(stage),
                    "work_pct": times.mean_us / loading.work_us * 100
                    if in_worker and times is not None
                    else None,
                    "bottleneck": is_slow(result, stage),
                    "source": None if times is None else (IN_TRACE if is_sent else source),
                }
            )
    frame = pl.DataFrame(rows, schema=STAGES.polars_schema())
    no_time, no_work = (recorded_or(trace, "loader_stages", text) for text in (NO_TIME, NO_WORK))
    reasons = dict.fromkeys(
        ("calls", *(f"time_{key}_us" for key in ("total", "mean", "min", "max")), "source"), no_time
    )
    reasons |= {"workers": NO_WORK, "busy_pct": no_time, "work_pct": no_work}
    return Table(STAGES, frame, needed(frame, reasons))


def loaders_table(trace: Trace, judged: Judged) -> Table:
    """A row per loader and phase."""
    settings = (
        "batch_size",
        "prefetch_factor",
        "pin_memory",
        "persistent_workers",
        "start_method",
        "style",
    )
    rows = [
        {
            "loader": loader_name(loading),
            "phase": phase_title(loading.phase),
            "bottleneck": bottleneck_word(result),
            "batches": loading.batches,
            "waited": loading.waited,
            "wait_us": loading.wait.mean_us,
            "work_us": loading.work_us or None,
            "step_us": loading.step_us,
            "wait_pct": loading.wait_pct,
            "ready_pct": loading.fill_pct,
            "empty_pct": loading.empty_pct,
            "workers": loading.workers,
            "workers_busy_pct": loading.workers_busy_pct if loading.workers else None,
            "cpu_pct": loading.cpu_pct,
            "samples": loading.samples,
            **{key: loading.settings.get(key) for key in settings},
        }
        for loading, result in judged
    ]
    frame = pl.DataFrame(rows, schema=LOADERS.polars_schema())
    reasons = dict.fromkeys((*settings, "workers"), NO_SETTING)
    no_queue = recorded_or(trace, "loader_queues", NO_QUEUE)
    no_time, no_work = (
        recorded_or(trace, "loader_stages", text) for text in (NO_TIME, NO_WORKERS_WORK)
    )
    reasons |= {"ready_pct": no_queue, "empty_pct": no_queue, "workers_busy_pct": no_work}
    reasons |= {"cpu_pct": NO_CPU, "work_us": no_time, "samples": "Not recorded for every batch."}
    return Table(LOADERS, frame, needed(frame, reasons))


def bottleneck_word(result: Diagnosis) -> str:
    """What holds up the steps, in a word or two."""
    words = {
        MODEL: "the model",
        START: "starting epochs",
        HANDOVER: "taking batches over",
        PIN: "pinning",
    }
    return words.get(result.kind) or (f"loading: {result.stage}" if result.stage else "loading")
