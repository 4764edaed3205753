"""Advice: what to change, from measured values, ranked by what it could gain.

One detector per module, with ``CODE``, ``EVIDENCE`` and ``detect``; thresholds, texts and links are
data (``knowledge/advice.toml``). No detector speaks from a number that cannot be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from torch_tb_profiler.advice import (
    blocked_host,
    buffer_broadcasts,
    communication_share,
    compilation,
    cudnn_benchmark,
    damage,
    data_parallel,
    dataloader_bound,
    ddp_options,
    deterministic_algorithms,
    device_gaps,
    device_missing,
    eager_attention,
    exposed_communication,
    far_from_roof,
    garbage_collection,
    gpu_imbalance,
    gpu_underused,
    graph_breaks,
    host_bound,
    host_synchronization,
    inference_all_reduce,
    launch_blocking,
    launch_bound,
    layout_transposes,
    long_calls,
    low_gpu_utilization,
    low_occupancy,
    low_sm_efficiency,
    memcpy_share,
    memory_near_limit,
    mixed_precision,
    nccl_backend,
    no_iterations,
    odd_layer,
    operators_missing,
    optimizer_loop,
    optimizer_not_fused,
    pageable_copies,
    profiler_overhead,
    python_code,
    single_thread,
    slow_api,
    slow_device,
    small_collectives,
    spare_memory,
    straggler,
    tensor_core_candidates,
    tensor_cores_unused,
    uncached_memory,
    uneven_steps,
    unfused_kernels,
    unrecorded_host,
    unsteady_steps,
    waiting_copies,
    waiting_ranks,
)
from torch_tb_profiler.advice.checked import NO_STEP_TIME, checked_table
from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.damage import damage_notes
from torch_tb_profiler.advice.finding import Finding, ranked
from torch_tb_profiler.advice.needs import unmet
from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.recorders import TORCH_PROFILER
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note, Table, TableSpec

RunDetector = Callable[[Mapping[str, Context]], Finding | None]


class Detector(Protocol):
    """A module that detects one thing in one trace."""

    CODE: str
    """Its entry in ``knowledge/advice.toml``."""
    EVIDENCE: TableSpec
    """What it hands over as evidence."""

    def detect(self, context: Context, /) -> Finding | None:
        """The finding, or None where there is nothing to say."""


DETECTORS: tuple[Detector, ...] = (
    uneven_steps,
    launch_blocking,
    uncached_memory,
    dataloader_bound,
    slow_api,
    compilation,
    garbage_collection,
    data_parallel,
    nccl_backend,
    communication_share,
    low_gpu_utilization,
    tensor_cores_unused,
    memory_near_limit,
    tensor_core_candidates,
    memcpy_share,
    pageable_copies,
    launch_bound,
    host_bound,
    host_synchronization,
    blocked_host,
    long_calls,
    python_code,
    unrecorded_host,
    device_gaps,
    profiler_overhead,
    exposed_communication,
    waiting_ranks,
    small_collectives,
    buffer_broadcasts,
    inference_all_reduce,
    gpu_imbalance,
    low_occupancy,
    low_sm_efficiency,
    optimizer_not_fused,
    unfused_kernels,
    eager_attention,
    layout_transposes,
    far_from_roof,
    graph_breaks,
    waiting_copies,
    mixed_precision,
    cudnn_benchmark,
    deterministic_algorithms,
    optimizer_loop,
    ddp_options,
    single_thread,
    gpu_underused,
    spare_memory,
    operators_missing,
    device_missing,
    unsteady_steps,
    odd_layer,
    no_iterations,
)
"""What looks at one trace; of findings on the same time with the same gain the first one tells."""

RUN_DETECTORS: tuple[RunDetector, ...] = (
    gpu_imbalance.detect_in_run,
    gpu_underused.detect_in_run,
    straggler.detect_in_run,
    slow_device.detect_in_run,
    waiting_ranks.detect_in_run,
)
"""What compares the workers of a run."""

EVIDENCE_TABLES: dict[str, TableSpec] = {
    **{detector.CODE: detector.EVIDENCE for detector in DETECTORS},
    straggler.CODE: straggler.EVIDENCE,
    slow_device.CODE: slow_device.EVIDENCE,
    **dict.fromkeys(damage.CODES, damage.EVIDENCE),
}
"""Code → the declared evidence."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What the detectors say of a selection.

    Attributes:
        notes: The findings, the largest estimated gain first.
        checked: Every detector with its outcome.
    """

    notes: tuple[Note, ...]
    checked: Table


def all_advice(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    """All advice on a selection of one trace, the largest estimated gain first.

    Raises:
        SelectionError: steps are malformed or not in this trace.
    """
    return examined(trace, selection).notes


def examined(trace: Trace, selection: Selection) -> Examined:
    """All advice on a selection of one trace, and what was looked for; of the whole trace it is
    kept.

    Raises:
        SelectionError: steps are malformed or not in this trace.
    """
    if selection.is_everything:
        return _examined_whole(trace)
    return _examine(trace, selection)


@per_split
def _examined_whole(trace: Trace) -> Examined:
    return _examine(trace, Selection())


def _examine(trace: Trace, selection: Selection) -> Examined:
    context = Context(trace, selection)
    checks = [detector.CODE for detector in DETECTORS]
    if context.step_ns <= 0:
        return Examined((), checked_table(checks, (), lambda _: NO_STEP_TIME))
    missing = {code: unmet(context, entry(code).needs) for code in checks}
    # From the end: the first ones need what the overview, at work beside, is making just now.
    findings = [
        detector.detect(context)
        for detector in reversed(DETECTORS)
        if missing[detector.CODE] is None
    ]
    told = [_for_recorder(finding, trace) for finding in reversed(findings) if finding is not None]
    notes = ranked(told, context.step_ns)
    return Examined(notes, checked_table(checks, notes, lambda known: missing[known.code]))


def run_advice(traces: Mapping[str, Trace], selection: Selection) -> tuple[Note, ...]:
    """Advice from comparing the workers of a run, the largest estimated gain first; the last of
    whole traces is kept.

    Workers that do not have the selected steps are left out; fewer than two give none.
    """
    if not selection.is_everything:
        return _compare_workers(traces, selection)
    matching, last = match(traces), _last_run_advice(next(iter(traces.values())))
    if last.answer is None or last.answer[0] is not matching:
        last.answer = (matching, _compare_workers(traces, selection))
    return last.answer[1]


@dataclass(slots=True, eq=False)
class _LastRunAdvice:
    """The last advice on a run with how its calls belong together, which is another as soon as one
    of its traces is; in one piece, as several threads read and write it."""

    answer: tuple[Matching, tuple[Note, ...]] | None = None


@per_split
def _last_run_advice(_trace: Trace) -> _LastRunAdvice:
    """What the first trace of a run keeps."""
    return _LastRunAdvice()


def _compare_workers(traces: Mapping[str, Trace], selection: Selection) -> tuple[Note, ...]:
    contexts = {
        worker: context
        for worker, trace in traces.items()
        if _has_steps(context := Context(trace, selection))
    }
    if len(contexts) < 2:
        return ()
    findings = [detect(contexts) for detect in RUN_DETECTORS]
    step_ns = sum(context.step_ns for context in contexts.values()) / len(contexts)
    of_any = next(iter(traces.values()))
    return ranked([_for_recorder(each, of_any) for each in findings if each is not None], step_ns)


def _for_recorder(finding: Finding, trace: Trace) -> Finding:
    """``finding`` in the words for what recorded ``trace``."""
    is_elsewhere = trace.meta.info.recorder != TORCH_PROFILER
    return replace(finding, is_elsewhere=True) if is_elsewhere else finding


def _has_steps(context: Context) -> bool:
    try:
        return context.step_ns > 0
    except SelectionError:
        return False


__all__ = [
    "EVIDENCE_TABLES",
    "Context",
    "Examined",
    "Finding",
    "all_advice",
    "damage_notes",
    "examined",
    "run_advice",
]
