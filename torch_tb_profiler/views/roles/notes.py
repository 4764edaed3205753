"""What limits the numbers of the view of roles."""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.analysis.job_roles.activity import JobActivity
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.quality_notes import RANK_ISSUES, listed, quality_notes_of_several
from torch_tb_profiler.views.roles.tables import UNALIGNED
from torch_tb_profiler.views.schema import Note

_COMPARED = ["waiting_us", "waiting_pct", "other_us"]


def role_notes(activity: JobActivity, traces: Mapping[str, Trace]) -> tuple[Note, ...]:
    """The notes of the view."""
    return (
        *_clock(activity),
        *_unknown(activity),
        *quality_notes_of_several(traces, RANK_ISSUES, "worker"),
    )


def _clock(activity: JobActivity) -> list[Note]:
    evidence: dict[str, object] = {"columns": _COMPARED}
    if not activity.is_aligned:
        return [Note("quality", "clocks_unknown", "warning", UNALIGNED, evidence)]
    text = (
        "Ranks are aligned by the time stamps of their files. Between hosts these are as exact as "
        "the hosts' clocks are synchronized, usually to some milliseconds."
    )
    return [Note("quality", "host_clocks", "info", text, evidence)]


def _unknown(activity: JobActivity) -> list[Note]:
    without = [
        worker
        for worker, each in zip(activity.workers, activity.ranks, strict=True)
        if each.role is None
    ]
    if not without:
        return []
    text = f"Nothing states the role of {listed(without)}: no name, range or kernel."
    return [Note("quality", "role_unknown", "info", text, {"workers": len(without)})]
