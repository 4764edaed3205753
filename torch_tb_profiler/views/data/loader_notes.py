"""What a recorded loader is told to do, with the figures that say so."""

from __future__ import annotations

from dataclasses import dataclass

from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import (
    IN_PROCESS,
    MODEL,
    START,
    WORKERS,
    Diagnosis,
)
from torch_tb_profiler.analysis.steps.data_loading.summary import IN_WORKER, Loading, StageTimes
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.data_loading import data_loading, loader_advice
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.data.loader_stages import Judged
from torch_tb_profiler.views.data.loader_words import loader_name, phase_word
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note

CODE = "data_loading_bottleneck"
TRANSFER_CODE = "data_transfer_unpinned"


@dataclass(frozen=True, slots=True)
class Told:
    """A diagnosis in sentences; empty ones where there is nothing to say.

    Attributes:
        waited: How long which steps waited.
        why: What holds them up, and what to do about that: by the CPU, where it was sampled.
        stage: The stage with most of the work, and what to do about that.
        won: What would be won, estimated.
        start: What the start of epochs costs.
        crowded: That workers are more than the cores, where no step waits for them.
    """

    waited: str
    why: str
    stage: str
    won: str
    start: str
    crowded: str

    @property
    def text(self) -> str:
        """All of it."""
        parts = (self.waited, self.why, self.stage, self.won, self.start, self.crowded)
        return " ".join(part for part in parts if part)


def told(loading: Loading, found: Diagnosis) -> Told:
    """A diagnosis in sentences."""
    wait, step = duration_text(loading.wait.mean_us), duration_text(loading.step_us)
    kind = phase_word(loading.phase)
    waited = (
        f"Each {kind} batch of loader {loader_name(loading)} was waited for {wait} of {step} "
        f"in the mean ({loading.wait_pct:.1f} %; {loading.waited} of {loading.batches} batches)."
    )
    why = loader_advice()[_advised(loading, found)].advice.format(needed=found.needed)
    if found.kind == MODEL:
        return Told(waited, why, "", "", "", _crowded(loading))
    return Told(
        waited,
        (_cpu(loading) if found.kind == WORKERS else "") or why,
        _stage(loading, found),
        _won(loading, found),
        _start(loading, found),
        "",
    )


def _advised(loading: Loading, found: Diagnosis) -> str:
    """The kind of advice: of a loader in the process by what workers would win."""
    if found.kind != IN_PROCESS or found.needed is not None:
        return found.kind
    if 0 < loading.work_us < data_loading().little_work_us:
        return "in_process_little"
    return "in_process_no_cores" if loading.has_no_core_left else "in_process_unknown"


def _stage(loading: Loading, found: Diagnosis) -> str:
    if found.stage is None or found.share_pct is None or found.kind not in (IN_PROCESS, WORKERS):
        return ""
    if _advised(loading, found) == "in_process_little":
        return ""
    is_computing = found.stage == "fetch" and loading.computes
    of = loader_advice()["fetch_computes" if is_computing else found.stage]
    mine, whole = loading.stages[found.stage].mean_us, loading.work_us
    named = [name for name in IN_WORKER if name in loading.stages]
    rest = "" if "transform" in named or found.stage != "fetch" else ", with what changes them"
    return (
        f"Of the {duration_text(whole)} of work on a batch, {of.words}{rest} ({found.stage}) takes "
        f"{duration_text(mine)} ({found.share_pct:.0f} %). {of.advice}"
    )


def _won(loading: Loading, found: Diagnosis) -> str:
    if found.needed is None or found.step_us is None:
        return ""
    saved = loading.steady_us - found.step_us
    if saved <= 0:
        return ""
    are = "s" if found.needed > 1 else ""
    return (
        f"With {found.needed} worker{are} a batch would take {duration_text(found.step_us)} "
        f"instead of {duration_text(loading.steady_us)}, estimated."
    )


def _start(loading: Loading, found: Diagnosis) -> str:
    """The start of epochs, where it is a good part of the waiting."""
    share = loading.start_us / loading.elapsed_us * 100 if loading.elapsed_us else 0.0
    if share < data_loading().waited_pct:
        return ""
    figure = f"The first batches of epochs are {duration_text(loading.start_us)} of all waiting."
    is_kept = found.kind == START or loading.settings.get("persistent_workers")
    return figure if is_kept else f"{figure} {loader_advice()[START].advice}"


def _cpu(loading: Loading) -> str:
    """What the CPU of workers and of the machine says."""
    figures = [] if loading.cpu_pct is None else [f"{loading.cpu_pct:.0f} % CPU each"]
    if loading.idle_cores is not None:
        figures.append(f"{loading.idle_cores:.1f} of {loading.cores} cores idle")
    if (kind := _cores_kind(loading)) is None:
        return ""
    said = f"{loader_advice()[kind].advice.removesuffix('.')} ({', '.join(figures)})."
    return " ".join(part for part in (said, _crowded(loading)) if part)


def _cores_kind(loading: Loading) -> str | None:
    """Whether more workers help; None where nothing tells it."""
    if loading.has_no_core_left:
        return "no_cores"
    if loading.cpu_pct is None:
        return None
    has_room = loading.cores is None or (loading.workers or 0) < loading.cores
    if loading.cpu_pct < data_loading().busy_worker_pct:
        return "idle_workers" if has_room else "idle_workers_enough"
    is_core_left = loading.idle_cores is not None and loading.idle_cores >= 1
    return "cores_left" if is_core_left and has_room else None


def _crowded(loading: Loading) -> str:
    """More workers than cores, all of which are busy."""
    workers, cores = loading.workers, loading.cores
    if not loading.has_no_core_left or workers is None or cores is None or workers <= cores:
        return ""
    return loader_advice()["crowded"].advice.format(workers=workers, cores=cores)


def loader_notes(judged: Judged) -> tuple[Note, ...]:
    """One note per loader: advice where it holds up its steps, else that it does not."""
    return tuple(_note(loading, found) for loading, found in judged)


def transfer_notes(
    judged: Judged, sent: StageTimes | None, windows: StepWindows
) -> tuple[Note, ...]:
    """What to do about copies to the device that take a good part of the steps on the timeline,
    where the loader of training does not pin."""
    training = [loading for loading, _ in judged if loading.phase == TRAIN]
    steps_us = int((windows.end_ns - windows.start_ns).sum()) / NS_PER_US
    if sent is None or not training or not steps_us:
        return ()
    share = sent.total_us / steps_us * 100
    if share < data_loading().waited_pct or training[0].settings.get("pin_memory") is not False:
        return ()
    text = (
        f"Copies to the device take {duration_text(sent.total_us)} of {duration_text(steps_us)} "
        f"({share:.1f} %), and loader {loader_name(training[0])} does not pin. "
        f"{loader_advice()['transfer'].advice}"
    )
    return (Note("advice", TRANSFER_CODE, "warning", text, _evidence(share)),)


def _evidence(measured: float, **more: object) -> dict[str, object]:
    return {
        "title": "Data loading",
        "measured": measured,
        "threshold": data_loading().waited_pct,
        "threshold_is_ours": True,
        "unit": "pct",
        **more,
    }


def _note(loading: Loading, found: Diagnosis) -> Note:
    is_slow = found.kind != MODEL or bool(_crowded(loading))
    evidence = _evidence(
        loading.wait_pct,
        kind=found.kind,
        stage=found.stage,
        loader=loading.loader,
        phase=loading.phase,
        needed_workers=found.needed,
        estimated_step_us=found.step_us,
    )
    text = told(loading, found).text
    return Note("advice", CODE, "warning" if is_slow else "info", text, evidence)
