"""What limits the numbers of the view of experts."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import world_size
from torch_tb_profiler.analysis.experts.balance import ExpertLoads
from torch_tb_profiler.analysis.experts.stages import TITLES, Stage
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.quality_notes import RANK_ISSUES, listed, quality_notes_of_several
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note

_AMONG_RANKS = ("token_ratio", "time_ratio", "busiest_pct", "token_imbalance", "time_imbalance")


def expert_notes(
    traces: Mapping[str, Trace], loads: ExpertLoads, selection: Selection
) -> tuple[Note, ...]:
    """The notes of the view."""
    return (
        *_rank_notes(traces),
        *quality_notes_of_several(traces, RANK_ISSUES, "worker"),
        *_uneven_notes(loads),
        *_undecided_notes(loads),
        *_range_notes(selection),
    )


def _rank_notes(traces: Mapping[str, Trace]) -> list[Note]:
    sizes = [size for trace in traces.values() if (size := world_size(trace)) is not None]
    ranks = max(sizes, default=None)
    if ranks is None or len(traces) >= ranks:
        return []
    loaded = f"{len(traces)} of {ranks} ranks" if len(traces) > 1 else f"one of {ranks} ranks"
    text = (
        f"Recordings of {loaded} are loaded. Experts of the others may have more or fewer tokens; "
        "dispatch and combine of a loaded rank include its waits for all."
    )
    evidence = {"workers": len(traces), "ranks": ranks, "columns": list(_AMONG_RANKS)}
    return [Note("quality", "ranks_missing", "info", text, evidence)]


def _uneven_notes(loads: ExpertLoads) -> list[Note]:
    if not loads.uneven:
        return []
    text = (
        f"{listed(loads.uneven)}: another number of passes through layers of experts in a step "
        "than the other ranks. Passes have no names here and are matched by their order, so these "
        "workers are not compared."
    )
    return [
        Note("quality", "uneven_passes", "warning", text, {"columns": list(_AMONG_RANKS)}),
    ]


def _undecided_notes(loads: ExpertLoads) -> list[Note]:
    undecided = loads.kernels.filter(pl.col("stage") == TITLES[Stage.UNDECIDED])
    if undecided.is_empty():
        return []
    time_us = int(undecided["total_ns"].sum()) / max(sum(loads.steps), 1) / NS_PER_US
    groups = [key.partition("|")[0] for key in undecided["group_key"].drop_nulls().unique().sort()]
    named = f" of the groups {listed(groups)}" if groups else ""
    text = (
        f"all_to_all calls{named} ({duration_text(time_us)} per step and rank) may be dispatch "
        "and combine of experts, or exchange sequences (context parallelism): neither their group "
        "nor a range around them says which. They are in no figure of dispatch and combine."
    )
    return [Note("quality", "undecided_exchanges", "info", text, {"columns": []})]


def _range_notes(selection: Selection) -> list[Note]:
    if selection.start_ns is None and selection.end_ns is None:
        return []
    text = (
        "Of the time range, passes count whose GEMMs begin in it, and kernels of all steps that "
        "it touches."
    )
    return [Note("quality", "passes_of_range", "info", text, {"columns": []})]
