"""Sentences on what limits a recorded data loader and how to fix it, for the data view and the
detector of data loading."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import (
    IN_PROCESS,
    MODEL,
    START,
    WORKERS,
    Diagnosis,
)
from torch_tb_profiler.analysis.steps.data_loading.summary import IN_WORKER, Loading
from torch_tb_profiler.knowledge.data_loading import data_loading, loader_advice
from torch_tb_profiler.views.scales import duration_text


def phase_title(phase: str) -> str:
    """A phase, for people."""
    return "training" if phase == TRAIN else "evaluation"


def loader_name(loading: Loading) -> str:
    """A loader with its dataset: ``"0 (ImageFolder)"``."""
    dataset = loading.settings.get("dataset")
    return f"{loading.loader} ({dataset})" if dataset else str(loading.loader)


class DiagnosisText(Struct, frozen=True):
    """A diagnosis in sentences; empty where a sentence does not apply.

    Attributes:
        waited: How long steps waited.
        why: What limits the loader and what to do about it, using CPU samples if recorded.
        stage: The most expensive stage, and what to do about it.
        won: The estimated gain.
        start: The cost of starting epochs.
        crowded: That there are more workers than cores, where no step waits.
    """

    waited: str
    reason: str
    stage: str
    won: str
    start: str
    crowded: str

    @property
    def text(self) -> str:
        """All of it."""
        parts = (self.waited, self.reason, self.stage, self.won, self.start, self.crowded)
        return " ".join(part for part in parts if part)


def describe_diagnosis(loading: Loading, result: Diagnosis) -> DiagnosisText:
    """A diagnosis in sentences."""
    wait, step = duration_text(loading.wait.mean_us), duration_text(loading.step_us)
    kind = phase_title(loading.phase)
    waited = (
        f"On average the {kind} loop waited {wait} of {step} for each batch of loader "
        f"{loader_name(loading)} ({loading.wait_pct:.1f} %; it waited for {loading.waited} of "
        f"{loading.batches} batches)."
    )
    reason = loader_advice()[_advised(loading, result)].advice.format(needed=result.needed)
    if result.kind == MODEL:
        return DiagnosisText(waited, reason, "", "", "", crowded_text(loading))
    return DiagnosisText(
        waited,
        (_cpu(loading) if result.kind == WORKERS else "") or reason,
        _stage(loading, result),
        _won(loading, result),
        _start(loading, result),
        "",
    )


def _advised(loading: Loading, result: Diagnosis) -> str:
    """Key of the advice; for a loader in the main process it depends on the gain from workers."""
    if result.kind != IN_PROCESS or result.needed is not None:
        return result.kind
    if 0 < loading.work_us < data_loading().little_work_us:
        return "in_process_little"
    return "in_process_no_cores" if loading.has_no_core_left else "in_process_unknown"


def _stage(loading: Loading, result: Diagnosis) -> str:
    if result.stage is None or result.share_pct is None or result.kind not in (IN_PROCESS, WORKERS):
        return ""
    if _advised(loading, result) == "in_process_little":
        return ""
    is_computing = result.stage == "fetch" and loading.computes
    advice = loader_advice()["fetch_computes" if is_computing else result.stage]
    mine, whole = loading.stages[result.stage].mean_us, loading.work_us
    named = [name for name in IN_WORKER if name in loading.stages]
    rest = "" if "transform" in named or result.stage != "fetch" else ", transforms included"
    return (
        f"Of the {duration_text(whole)} of work on a batch, {advice.words}{rest} ({result.stage}) "
        f"takes {duration_text(mine)} ({result.share_pct:.0f} %). {advice.advice}"
    )


def _won(loading: Loading, result: Diagnosis) -> str:
    if result.needed is None or result.step_us is None:
        return ""
    saved = loading.steady_us - result.step_us
    if saved <= 0:
        return ""
    are = "s" if result.needed > 1 else ""
    return (
        f"With {result.needed} worker{are} a batch would take {duration_text(result.step_us)} "
        f"instead of {duration_text(loading.steady_us)} (estimated)."
    )


def _start(loading: Loading, result: Diagnosis) -> str:
    """The start of epochs, if it is a large part of the waiting."""
    share = loading.start_us / loading.elapsed_us * 100 if loading.elapsed_us else 0.0
    if share < data_loading().waited_pct:
        return ""
    figure = (
        f"Waiting for the first batch of each epoch took {duration_text(loading.start_us)} in "
        "total."
    )
    needs_no_advice = result.kind == START or loading.settings.get("persistent_workers")
    return figure if needs_no_advice else f"{figure} {loader_advice()[START].advice}"


def _cpu(loading: Loading) -> str:
    """Advice from the CPU samples of workers and machine."""
    figures = [] if loading.cpu_pct is None else [f"{loading.cpu_pct:.0f} % CPU each"]
    if loading.idle_cores is not None:
        figures.append(f"{loading.idle_cores:.1f} of {loading.cores} cores idle")
    if (kind := _cores_kind(loading)) is None:
        return ""
    advice_text = f"{loader_advice()[kind].advice.removesuffix('.')} ({', '.join(figures)})."
    return " ".join(part for part in (advice_text, crowded_text(loading)) if part)


def _cores_kind(loading: Loading) -> str | None:
    """Key of the advice on more workers; None if unknown."""
    if loading.has_no_core_left:
        return "no_cores"
    if loading.cpu_pct is None:
        return None
    has_room = loading.cores is None or (loading.workers or 0) < loading.cores
    if loading.cpu_pct < data_loading().busy_worker_pct:
        return "idle_workers" if has_room else "idle_workers_enough"
    is_core_left = loading.idle_cores is not None and loading.idle_cores >= 1
    return "cores_left" if is_core_left and has_room else None


def crowded_text(loading: Loading) -> str:
    """More workers than cores, all of which are busy."""
    workers, cores = loading.workers, loading.cores
    if not loading.has_no_core_left or workers is None or cores is None or workers <= cores:
        return ""
    return loader_advice()["crowded"].advice.format(workers=workers, cores=cores)
