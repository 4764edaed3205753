"""Advice: what to change, from measured values, ranked by what it could gain.

One detector per module, ``detect(context) -> Advice | None``; thresholds, texts and links are data
(``knowledge/advice.toml``). No detector speaks from a number that cannot be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch_tb_profiler.advice import (
    communication_share,
    data_parallel,
    dataloader_bound,
    exposed_communication,
    gpu_imbalance,
    host_synchronization,
    launch_bound,
    low_gpu_utilization,
    low_occupancy,
    low_sm_efficiency,
    memcpy_share,
    memory_near_limit,
    nccl_backend,
    optimizer_not_fused,
    pageable_copies,
    straggler,
    tensor_core_candidates,
    tensor_cores_unused,
    uneven_steps,
)
from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.found import Advice, ranked
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note

Detector = Callable[[Context], Advice | None]
RunDetector = Callable[[Mapping[str, Context]], Advice | None]

DETECTORS: tuple[Detector, ...] = (
    uneven_steps.detect,
    dataloader_bound.detect,
    data_parallel.detect,
    nccl_backend.detect,
    communication_share.detect,
    low_gpu_utilization.detect,
    tensor_cores_unused.detect,
    memory_near_limit.detect,
    tensor_core_candidates.detect,
    memcpy_share.detect,
    pageable_copies.detect,
    launch_bound.detect,
    host_synchronization.detect,
    exposed_communication.detect,
    gpu_imbalance.detect,
    low_occupancy.detect,
    low_sm_efficiency.detect,
    optimizer_not_fused.detect,
)
"""Detectors that look at one trace."""

RUN_DETECTORS: tuple[RunDetector, ...] = (gpu_imbalance.detect_in_run, straggler.detect_in_run)
"""Detectors that compare the workers of a run."""


def all_advice(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    """All advice on a selection of one trace, the largest estimated gain first.

    Raises:
        SelectionError: steps are malformed or not in this trace.
    """
    context = Context(trace, selection)
    if context.step_ns <= 0:
        return ()
    # From the end: the first ones need what the overview, at work beside, is making just now.
    found = [detect(context) for detect in reversed(DETECTORS)]
    return ranked([advice for advice in reversed(found) if advice is not None])


def run_advice(traces: Mapping[str, Trace], selection: Selection) -> tuple[Note, ...]:
    """Advice from comparing the workers of a run, the largest estimated gain first.

    Workers that do not have the selected steps are left out; fewer than two give none.
    """
    contexts = {
        worker: context
        for worker, trace in traces.items()
        if _has_steps(context := Context(trace, selection))
    }
    if len(contexts) < 2:
        return ()
    return ranked([found for detect in RUN_DETECTORS if (found := detect(contexts)) is not None])


def _has_steps(context: Context) -> bool:
    try:
        return context.step_ns > 0
    except SelectionError:
        return False


__all__ = ["Advice", "Context", "all_advice", "run_advice"]
