"""What holds a data loader up, by the rule of ``docs/views-data.md#a-loader-of-torch``."""

from __future__ import annotations

import math

from msgspec import Struct

from torch_tb_profiler.analysis.steps.data_loading.summary import IN_WORKER, Loading
from torch_tb_profiler.knowledge.data_loading import data_loading

MODEL, IN_PROCESS, WORKERS = "model", "in_process", "workers"
START, HANDOVER, PIN = "start", "handover", "pin"


class Diagnosis(Struct, frozen=True):
    """What holds up the steps that a data loader feeds.

    Attributes:
        kind: ``"model"``: no step waits for data; ``"in_process"``: the program loads by itself;
            ``"start"``: epochs begin; ``"workers"``: they are too slow;
            ``"pin"``: copying into pinned memory is;
            ``"handover"``: batches were ready and workers had time, yet the next was waited for.
        stage: The stage that takes most of the work on a batch; None where nothing tells it.
        share_pct: Its share of that work.
        needed: Workers that would keep up with the model, as many as the machine has cores for;
            None where more would not help, or nothing tells it.
        step_us: What a step would take with so many, estimated.
    """

    kind: str
    stage: str | None
    share_pct: float | None
    needed: int | None
    step_us: float | None


def diagnosis(loading: Loading) -> Diagnosis:
    """What holds a loader up."""
    stage, share = _slowest(loading)
    kind = _kind(loading)
    needed, step_us = (None, None)
    if kind in (IN_PROCESS, WORKERS):
        needed, step_us = _with_workers(loading)
    return Diagnosis(kind, stage, share, needed, step_us)


def _kind(loading: Loading) -> str:
    if loading.wait_pct < data_loading().waited_pct:
        return MODEL
    if loading.workers == 0:
        return IN_PROCESS
    if loading.steady_wait_us < loading.steady_us * data_loading().waited_pct / 100:
        return START
    pinning = loading.stages.get("pin")
    if pinning is not None and pinning.mean_us > loading.work_us / (loading.workers or 1):
        return PIN
    ready_wait, busy = loading.ready_wait_pct, loading.workers_busy_pct
    if ready_wait is not None and ready_wait > data_loading().ready_wait_pct:
        has_time = busy is not None and busy < data_loading().busy_workers_pct
        return HANDOVER if has_time and not loading.has_no_core_left else WORKERS
    return WORKERS


def _slowest(loading: Loading) -> tuple[str | None, float | None]:
    """The stage with the largest share of the work, and that share."""
    times = {name: loading.stages[name].mean_us for name in IN_WORKER if name in loading.stages}
    whole = sum(times.values())
    if whole <= 0:
        return None, None
    stage = max(times, key=times.__getitem__)
    return stage, times[stage] / whole * 100


def _with_workers(loading: Loading) -> tuple[int | None, float | None]:
    """How many workers would keep up with the model, and what a step would take then.

    What computes shares the cores: no number of workers gives more of these. Without samples of
    the CPU work is taken to compute.
    """
    model_us = max(loading.model_us, 0.0)
    work_us = loading.work_us
    if work_us <= 0 or loading.has_no_core_left:
        return None, None
    most = data_loading().most_workers if loading.cores is None else max(loading.cores, 1)
    needed = most if model_us <= 0 else min(math.ceil(work_us / model_us), most)
    share = 100.0 if loading.computing_pct is None else loading.computing_pct
    computing_us = (model_us + work_us * share / 100) / most
    step_us = max(model_us, work_us / needed, computing_us)
    is_won = needed > (loading.workers or 0) and step_us < loading.steady_us
    is_handed_over = work_us >= data_loading().little_work_us
    return (needed, step_us) if is_won and is_handed_over else (None, None)
