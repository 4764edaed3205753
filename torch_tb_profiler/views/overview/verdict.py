"""The verdict: how busy the devices were, and where the rest of the step went, in a sentence.

It is computed from the numbers that the overview shows anyway: the categories of the average step
and the utilization of its GPUs.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.roles import OPERATORS, Role
from torch_tb_profiler.analysis.idle.resources import unused_gpus
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import range_costs, unknown_roles
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.kernels import spoken_kind
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.overview.gpus import UTILIZATION
from torch_tb_profiler.views.overview.recorded_steps import recorded_step_facts
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.snapshot_sentence import snapshot_sentence

LEAST_PCT = 10.0
"""A part of the step below this is no news."""
MAX_PARTS = 2
"""Parts of the step in the sentence."""
ON_DEVICE_PCT = 2.0
"""Communication is part of the busy time if computation and it exceed that by no more."""

_HOST = {
    Role.RUNTIME: "the host is in device API calls",
    Role.CPU_EXEC: "the host runs operators",
    Role.OTHER: "the host is outside operators",
    Role.DATALOADER: "the host loads data",
}
_COPIES = (Role.MEMCPY, Role.MEMSET)
_UNHIDDEN = "communication that no computation overlaps"


class _Step(Struct, frozen=True):
    """The average step.

    Attributes:
        pct: Share of each role.
        unknown: Roles that the recording does not have.
        has_operators: Whether the recording has any.
        whole: The step with its length: "the 4.43 ms step".
        part: What a share is of: "of the step".
    """

    pct: dict[Role, float]
    unknown: dict[Role, str]
    has_operators: bool
    whole: str
    part: str


def verdict(
    trace: Trace,
    selection: Selection,
    windows: StepWindows,
    costs: Int64,
    gpus: Table,
    *,
    is_recording: bool,
) -> str | None:
    """The sentence; None where the steps have no duration or nothing of them is known.

    Args:
        trace: The recording.
        selection: What of it.
        windows: Its steps.
        costs: Per step (row) of the averages and role the time in ns.
        gpus: The GPUs that ran work.
        is_recording: Whether the one step is the recording, which names none.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    unknown, total_ns = unknown_roles(trace), int(costs.sum())
    if Role.OTHER in unknown:
        held = snapshot_sentence(trace) if trace.meta.format == "snapshot" else None
        return held or unknown[Role.OTHER]
    if not total_ns:
        return _recorded_step(trace)
    pct = dict(zip(Role, (costs.sum(axis=0) / total_ns * 100).tolist(), strict=True))
    has_operators = Role.CPU_EXEC not in unknown and bool(
        trace.slices["category"].is_in(OPERATORS).any()
    )
    ranges_ns = int(range_costs(trace, windows)[windows.averaged].sum())
    in_ranges = ranges_ns / total_ns * 100
    # The category holds ranges, too: they can be open for as long as anything takes.
    if in_ranges >= LEAST_PCT or not has_operators:
        pct[Role.CPU_EXEC] -= in_ranges
        pct[Role.OTHER] += in_ranges
    step = _Step(
        pct,
        unknown,
        has_operators,
        _whole(duration_text(total_ns / len(costs) / NS_PER_US), len(costs), is_recording),
        "of the time" if is_recording else "of the step",
    )
    recorded = _recorded_step(trace) if is_recording else None
    sentence = _sentence(trace, selection, gpus, step)
    return sentence if recorded is None else f"{recorded} {sentence}"


def _sentence(trace: Trace, selection: Selection, gpus: Table, step: _Step) -> str:
    if gpus.frame.is_empty():
        return _of_host(step)
    busy, is_communication = _busy(trace, gpus, step)
    parts = _parts(gpus, step) or ([] if is_communication else _work_parts(trace, selection))
    return "; ".join((busy, *parts)) + "."


def _recorded_step(trace: Trace) -> str | None:
    """The length of a step by a file of the recording."""
    for fact in recorded_step_facts(trace):
        length = duration_text(float(str(fact.value)))
        return f"A step takes {length} (median, as the profiler recorded)."
    return None


def _whole(length: str, count: int, is_recording: bool) -> str:
    if is_recording:
        return f"the {length} recording"
    return f"the {length} step" if count == 1 else f"an average step of {length}"


def _busy_pct(gpus: Table, step: _Step) -> float:
    mean = gpus.frame[UTILIZATION.key].mean()
    return mean if isinstance(mean, float) else step.pct[Role.KERNEL]


def _is_on_devices(gpus: Table, step: _Step) -> bool:
    """Whether the communication is busy time of the GPUs, and not calls of the host."""
    computing = step.pct[Role.KERNEL] + step.pct[Role.COMMUNICATION]
    return computing <= _busy_pct(gpus, step) + ON_DEVICE_PCT


def _busy(trace: Trace, gpus: Table, step: _Step) -> tuple[str, bool]:
    """How busy the GPUs are, and whether the sentence names their communication."""
    share = percent_text(_busy_pct(gpus, step))
    used, unused = gpus.frame.height, unused_gpus(trace)
    if used > 1:
        subject = f"The {used} GPUs are, on average, busy {share}"
    elif unused:
        subject = f"One of {used + unused} GPUs is used, and is busy {share}"
    else:
        subject = f"The GPU{_rank(trace)} is busy {share}"
    alone = step.pct[Role.COMMUNICATION]
    if alone < LEAST_PCT or not _is_on_devices(gpus, step):
        return f"{subject} of {step.whole}", False
    return f"{subject} of {step.whole}, {percent_text(alone)} {step.part} with {_UNHIDDEN}", True


def _rank(trace: Trace) -> str:
    """ " of rank 0 of 8"; empty where the recording is not known to be one of several."""
    job = trace.meta.info.job
    if job is None or job.rank is None or (job.world_size or 0) < 2:
        return ""
    return f" of rank {job.rank} of {job.world_size}"


def _parts(gpus: Table, step: _Step) -> list[str]:
    """What the step is spent on while no GPU computes, the largest first."""
    pct, part = step.pct, step.part
    idle = list(_HOST)
    texts = [(sum(pct[role] for role in _COPIES), "for {} {} only copies run")]
    if pct[Role.DATALOADER] >= LEAST_PCT:
        texts.append((pct[Role.DATALOADER], "{} {} is spent loading data"))
        idle.remove(Role.DATALOADER)
    waits = "no GPU works" if gpus.frame.height > 1 else "it is idle"
    mostly = max(idle, key=lambda role: pct[role])
    reason = "and what the host did is not recorded"
    if step.has_operators or (Role.CPU_EXEC not in step.unknown and mostly is not Role.OTHER):
        reason = f"mostly while {_HOST[mostly]}"
    texts.append((sum(pct[role] for role in idle), f"for {{}} {{}} {waits}, {reason}"))
    if not _is_on_devices(gpus, step):
        texts.append((pct[Role.COMMUNICATION], f"{{}} {{}} is {_UNHIDDEN}"))
    texts = sorted((text for text in texts if text[0] >= LEAST_PCT), reverse=True)
    return [text.format(percent_text(share), part) for share, text in texts[:MAX_PARTS]]


def _work_parts(trace: Trace, selection: Selection) -> list[str]:
    """The kind of GPU work with the most time, where the GPU is never idle for long."""
    chosen = device_work_mask(trace, selection)
    work = trace.device_work.select("name_code", "dur_ns").filter(pl.Series(chosen))
    communicates = kernel_kinds(trace).is_communication[chosen]
    names = kernel_name_kinds(trace)
    kind = np.where(communicates, -1, names.index[work["name_code"].to_numpy()])
    total_ns = int(work["dur_ns"].sum())
    if not total_ns:
        return []
    by_kind = work.group_by(pl.Series("kind", kind)).agg(pl.col("dur_ns").sum())
    number, longest_ns = by_kind.sort("dur_ns", "kind", descending=[True, False]).row(0)
    spoken = "communication" if number < 0 else spoken_kind(names.kinds[number].kind)
    if spoken is None:
        return []
    return [f"{percent_text(longest_ns / total_ns * 100)} of its work is {spoken}"]


def _of_host(step: _Step) -> str:
    """The sentence of a recording without device work."""
    pct = step.pct
    texts = [
        (pct[Role.DATALOADER], "loading data"),
        (pct[Role.CPU_EXEC], "in operators"),
        (pct[Role.COMMUNICATION], "in communication"),
        (pct[Role.RUNTIME], "in device API calls"),
        (pct[Role.OTHER] if step.has_operators else 0.0, "outside operators"),
    ]
    texts = sorted((text for text in texts if text[0] >= LEAST_PCT), reverse=True)
    shares = [f"{percent_text(share)} {text}" for share, text in texts[:MAX_PARTS]]
    if Role.CPU_EXEC in step.unknown or not shares:
        return f"Neither GPU work nor operators are recorded in {step.whole}."
    spent = " and ".join((shares[0].replace(" % ", " % is spent ", 1), *shares[1:]))
    missing = "No GPU work is" if step.has_operators else "Neither GPU work nor operators are"
    return f"Of {step.whole}, {spent}. {missing} recorded."
