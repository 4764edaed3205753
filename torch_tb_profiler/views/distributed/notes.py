"""What limits the numbers of the distributed view: damaged recordings, steps left out, calls that
could not be matched."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.communication.members import loaded_ranks
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.programs import job_ranks, program_notes, program_of
from torch_tb_profiler.views.quality_notes import RANK_ISSUES, listed, quality_notes_of_several
from torch_tb_profiler.views.recognition import communication_notes_of_several
from torch_tb_profiler.views.schema import Note

_AMONG_WORKERS = ("transfer_us", "wait_us", "arrived_last", "arrived_last_pct", "delay_us")
"""Columns that compare workers: each depends on who is there."""


def workers_with_events(traces: Mapping[str, Trace]) -> dict[str, Trace]:
    """The workers but those of which there are only tables from files. A summary has no slices,
    but says when they end."""
    return {
        worker: each
        for worker, each in traces.items()
        if each.meta.end_ns > each.meta.start_ns or not each.side
    }


def distributed_notes(
    traces: Mapping[str, Trace],
    windows: Mapping[str, StepWindows],
    matching: Matching,
) -> tuple[Note, ...]:
    """The notes of the view.

    Args:
        traces: All workers.
        windows: The workers that have the selected steps.
        matching: The calls of those.
    """
    # Of the others notes on events would only repeat that there are none.
    timed = workers_with_events(traces)
    timed_windows = {worker: windows[worker] for worker in windows if worker in timed}
    return (
        *program_notes(traces, traces),
        *_rank_notes(traces),
        *quality_notes_of_several(traces, RANK_ISSUES, "worker"),
        *_timeline_notes([worker for worker in traces if worker not in timed]),
        *communication_notes_of_several(timed),
        *_step_notes(list(timed), timed_windows),
        *_time_notes(matching),
        *_matching_notes(len(traces), matching),
    )


def _rank_notes(traces: Mapping[str, Trace]) -> list[Note]:
    numbers = program_of(traces)
    notes = []
    for part in programs(traces).parts(traces):
        workers, loaded, ranks = len(part), loaded_ranks(part), job_ranks(part)[0]
        if ranks is None or workers < 2 or loaded >= ranks:
            continue
        number = numbers.get(next(iter(part)))
        whose = "" if number is None else f" of program {number}"
        text = (
            f"Recordings of {loaded} of {ranks} ranks{whose} are loaded. Stragglers are detected "
            "among these only; a missing rank may be the one that all wait for."
        )
        evidence = {"workers": workers, "ranks": ranks, "columns": list(_AMONG_WORKERS)}
        notes.append(Note("quality", "ranks_missing", "warning", text, evidence))
    return notes


def _timeline_notes(without: list[str]) -> list[Note]:
    if not without:
        return []
    text = (
        f"The recordings of {listed(without)} have no events: of them only what their files "
        "report is shown."
    )
    return [Note("quality", "no_timeline", "info", text, {"workers": without})]


def _step_notes(workers: list[str], windows: Mapping[str, StepWindows]) -> list[Note]:
    notes = []
    left_out = {worker: w.left_out for worker, w in windows.items() if w.left_out}
    if left_out:
        notes.append(
            Note(
                "quality",
                "step_left_out",
                "info",
                f"The recording ended within the last step on {listed(list(left_out))}; overlap "
                "and wait leave that step out.",
                {"steps": left_out},
            )
        )
    cut = {worker: w.cut for worker, w in windows.items() if w.cut}
    if cut:
        notes.append(
            Note(
                "quality",
                "step_cut",
                "info",
                f"Some steps are only partly selected or recorded on {listed(list(cut))}; means "
                "use whole steps where there are any.",
                {"steps": cut},
            )
        )
    absent = [worker for worker in workers if worker not in windows]
    if absent:
        notes.append(
            Note(
                "quality",
                "step_absent",
                "warning",
                f"The selected steps are not in the recordings of {listed(absent)}.",
                {"workers": absent},
            )
        )
    empty = [worker for worker, w in windows.items() if not w.names and not w.left_out]
    if empty:
        notes.append(
            Note(
                "quality",
                "no_step_recorded",
                "warning",
                f"No step of the selection was recorded on {listed(empty)}; overlap and wait "
                "have no rows there.",
                {"workers": empty},
            )
        )
    return notes


def _time_notes(matching: Matching) -> list[Note]:
    timed = matching.ranges.select("worker", "record").unique()
    untimed = matching.calls.join(timed, on=["worker", "record"], how="anti")
    if untimed.is_empty():
        return []
    workers = [matching.workers[number] for number in untimed["worker"].unique().sort()]
    return [
        Note(
            "quality",
            "collective_untimed",
            "warning",
            f"The device work of {untimed.height:,} of {matching.calls.height:,} calls was not "
            f"recorded on {listed(workers)}, so when they ran is unknown. Communication takes "
            "more time there than shown.",
            {
                "count": untimed.height,
                "workers": workers,
                "columns": ["computation_us", "overlap_us", "communication_us", "other_us"],
            },
        )
    ]


def _matching_notes(workers: int, matching: Matching) -> list[Note]:
    notes = []
    unmatched = matching.calls.filter(pl.col("match").is_null())
    if unmatched.height:
        reasons = dict(unmatched["unmatched_reason"].value_counts().iter_rows())
        text = "; ".join(f"{count}: {reason}" for reason, count in sorted(reasons.items()))
        notes.append(
            Note(
                "quality",
                "collective_unmatched",
                "info" if workers < 2 else "warning",
                f"{unmatched.height:,} of {matching.calls.height:,} calls have no match on "
                f"another worker, so no transfer and wait times ({text}).",
                {"count": unmatched.height, "reasons": reasons},
            )
        )
    stated = matching.ranges.filter("is_stated").select("worker", "record").unique()
    estimated = matching.calls.join(stated, on=["worker", "record"], how="anti")
    short = estimated.filter(pl.col("match").is_not_null()).filter(
        pl.col("members") < pl.when(pl.col("pair").is_null()).then("group_size").otherwise(2)
    )
    size = pl.when(pl.col("pair").is_null()).then("group_size").otherwise(2)
    are_loaded = (pl.coalesce("loaded", pl.lit(workers)) >= size) & pl.col("pair").is_null()
    lost = short.filter(are_loaded)
    absent = short.filter(~are_loaded)
    if absent.height:
        notes.append(
            Note(
                "quality",
                "collective_partial",
                "warning",
                f"{absent.height:,} calls belong to groups with ranks whose recordings are "
                "missing. If such a rank arrived last, the transfer time shown includes waiting "
                "for it.",
                {"count": absent.height},
            )
        )
    if lost.height:
        notes.append(
            Note(
                "quality",
                "collective_call_lost",
                "warning",
                f"{lost.height:,} calls are of collectives that some member has no call of, though "
                "its recording is loaded. If that rank arrived last, the transfer time shown "
                "includes waiting for it.",
                {"count": lost.height},
            )
        )
    return notes
