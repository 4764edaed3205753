"""What ranks with a trace did at the moment of a hang, in words."""

from __future__ import annotations

from collections.abc import Collection

from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis
from torch_tb_profiler.analysis.hang.problems import HangProblem
from torch_tb_profiler.analysis.hang.rank_moments import RankMoment
from torch_tb_profiler.views.answering import quoted
from torch_tb_profiler.views.scales import duration_text

MAX_LOOKUPS = 64
"""Ranks of a hang whose traces are looked at for a sentence."""


def moment_cells(
    diagnosis: HangDiagnosis, rank: int, since_ns: int | None
) -> dict[str, str | None]:
    """The cells of a rank while others wait since a time."""
    moment = diagnosis.moments.at(rank, since_ns)
    if isinstance(moment, str):
        return {"trace_gap": moment}
    host, device = host_text(moment), device_text(moment)
    gap = None
    if host is None or (device is None and moment.has_device):
        gap = "only the last and the longest of its calls and kernels are known, none of that time"
    elif device is None:
        gap = "its trace has no device work"
    return {"host_at_hang": host, "device_at_hang": device, "trace_gap": gap}


def host_text(moment: RankMoment) -> str | None:
    """``"cudaStreamSynchronize, in train.py(41): step"``; None where it is unknown."""
    if moment.host is None:
        idle = moment.host_idle_ns
        return None if idle is None else f"nothing recorded since {duration_text(idle / 1e3)}"
    if moment.frame is None or moment.frame == moment.host:
        return moment.host
    return f"{moment.host}, in {moment.frame}"


def device_text(moment: RankMoment) -> str | None:
    """The kernel that runs, or ``"idle since 3.2 s"``; None where it is unknown."""
    if moment.device is not None:
        return moment.device
    idle = moment.device_idle_ns
    return None if idle is None else f"idle since {duration_text(idle / 1e3)}"


def host_sentence(
    diagnosis: HangDiagnosis, problem: HangProblem, ranks: Collection[int]
) -> str | None:
    """Where the first of these ranks that has a trace of that time was; None without one."""
    for rank in sorted(ranks)[:MAX_LOOKUPS]:
        moment = diagnosis.moments.at(rank, problem.since_ns)
        if isinstance(moment, RankMoment) and moment.host is not None:
            where = f"By its trace rank {rank} was in {quoted(host_text(moment) or '')} meanwhile"
            device = device_text(moment)
            return f"{where}, its device {_state(moment)}." if device else f"{where}."
    return None


def _state(moment: RankMoment) -> str:
    text = quoted(device_text(moment) or "")
    return text if moment.device is None else f"in {text}"
