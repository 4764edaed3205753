"""Advice on recorded data loaders, with the measured values."""

from __future__ import annotations

from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import (
    MODEL,
    Diagnosis,
)
from torch_tb_profiler.analysis.steps.data_loading.summary import Loading, StageSummary
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.data_loading import data_loading, loader_advice
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.data.loader_stages import Judged
from torch_tb_profiler.views.loader_diagnosis import crowded_text, describe_diagnosis, loader_name
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note

CODE = "data_loading_bottleneck"
TRANSFER_CODE = "data_transfer_unpinned"


def loader_notes(judged: Judged) -> tuple[Note, ...]:
    """One note per loader: advice where it holds up its steps, else that it does not."""
    return tuple(_note(loading, result) for loading, result in judged)


def transfer_notes(
    judged: Judged, sent: StageSummary | None, windows: StepWindows
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


def _note(loading: Loading, result: Diagnosis) -> Note:
    is_slow = result.kind != MODEL or bool(crowded_text(loading))
    evidence = _evidence(
        loading.wait_pct,
        kind=result.kind,
        stage=result.stage,
        loader=loading.loader,
        phase=loading.phase,
        needed_workers=result.needed,
        estimated_step_us=result.step_us,
    )
    text = describe_diagnosis(loading, result).text
    return Note("advice", CODE, "warning" if is_slow else "info", text, evidence)
