"""Distributed: computation against communication, transfer against waiting, over all workers.

Definitions: peer-behaviour §8, with the departures of ``docs/metrics.md``: communication is what
the knowledge rules and collective metadata say; calls match by group and sequence, so workers may
differ in count; what has no match is listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.distributed_collectives import collectives_table
from torch_tb_profiler.views.distributed_columns import (
    COLLECTIVES,
    DEVICES,
    OVERLAP,
    STRAGGLERS,
    UNMATCHED,
    WAIT,
)
from torch_tb_profiler.views.distributed_matching import Matching, match
from torch_tb_profiler.views.distributed_metadata import world_size
from torch_tb_profiler.views.distributed_records import records
from torch_tb_profiler.views.distributed_stragglers import stragglers_table, unmatched_table
from torch_tb_profiler.views.distributed_times import overlap_table, wait_table, worker_steps
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Fact, Note, Table, View
from torch_tb_profiler.views.selection import Selection, SelectionError, in_selection
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.step_windows import StepWindows, step_windows

_NODE_AND_PROCESS = re.compile(r"(?P<node>.*)_(?P<process>\d+)")
_SHOWN_NAMES = 10


def distributed(traces: Mapping[str, Trace], selection: Selection) -> View:
    """The distributed view of the workers of one run and span; one worker is enough.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    windows = _windows(traces, selection)
    steps = worker_steps(windows)
    chosen = {worker: traces[worker] for worker in windows}
    matching = _selected(match(traces), traces, selection, set(windows))
    sizes = [size for trace in traces.values() if (size := world_size(trace)) is not None]
    tables = (
        overlap_table(chosen, steps),
        wait_table(matching, steps),
        in_default_order(collectives_table(matching)),
        _devices_table(traces),
        stragglers_table(matching),
        unmatched_table(matching, traces),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        facts=_facts(traces, matching, max(sizes, default=None)),
        notes=_notes(traces, windows, matching),
    )


def stragglers(traces: Mapping[str, Trace], selection: Selection) -> Table:
    """The ``stragglers`` table of the view alone.

    Raises:
        SelectionError: as :func:`distributed`.
    """
    having = set(_windows(traces, selection))
    return stragglers_table(_selected(match(traces), traces, selection, having))


def _windows(traces: Mapping[str, Trace], selection: Selection) -> dict[str, StepWindows]:
    """The selected steps of each worker that has any of them."""
    windows: dict[str, StepWindows] = {}
    error: SelectionError | None = None
    for worker, trace in traces.items():
        found = _windows_or_error(trace, selection)
        if isinstance(found, SelectionError):
            error = found
        else:
            windows[worker] = found
    if not windows and error is not None:
        raise error
    return windows


def _windows_or_error(trace: Trace, selection: Selection) -> StepWindows | SelectionError:
    try:
        return step_windows(trace, selection)
    except SelectionError as error:
        return error


def _selected(
    matching: Matching, traces: Mapping[str, Trace], selection: Selection, having: set[str]
) -> Matching:
    """The matching with the calls of the selection only; calls were matched over all."""
    if selection.is_everything:
        return matching
    masks = [
        in_selection(trace, selection, calls["step"], calls["start_ns"])
        if worker in having
        else np.zeros(calls.height, np.bool_)
        for worker, trace in traces.items()
        for calls in [records(trace).frame]
    ]
    calls = matching.calls.filter(pl.Series(np.concatenate(masks)))
    ranges = matching.ranges.join(calls.select("worker", "record"), on=["worker", "record"])
    return replace(matching, calls=calls, ranges=ranges)


def _devices_table(traces: Mapping[str, Trace]) -> Table:
    """One row per used device; node and process from the worker's name (peer-behaviour §8.7)."""
    rows = []
    for number, worker in enumerate(sorted(traces)):
        found = _NODE_AND_PROCESS.search(worker)
        node, process = (found["node"], found["process"]) if found else (worker, str(number))
        for device in traces[worker].devices.filter("used").iter_rows(named=True):
            capability = None
            if device["compute_major"] is not None:
                capability = f"{device['compute_major']}.{device['compute_minor']}"
            memory = device["memory_bytes"]
            rows.append(
                (node, process, device["device"], device["name"], memory, capability, worker)
            )
    frame = pl.DataFrame(rows, schema=DEVICES.polars_schema(), orient="row")
    unknown = "The recording declares no properties of this device."
    keys = ("name", "memory_bytes", "compute_capability")
    return Table(DEVICES, frame, {key: unknown for key in keys if frame[key].null_count()})


def _facts(traces: Mapping[str, Trace], matching: Matching, ranks: int | None) -> tuple[Fact, ...]:
    calls = matching.calls
    return (
        Fact(
            "worker_count", "Workers", len(traces), "count", None, "Recordings that were compared."
        ),
        Fact(
            "world_size",
            "World size",
            ranks,
            "count",
            None,
            "Ranks of the job, as the recordings say.",
            None if ranks is not None else "The recordings do not say.",
        ),
        Fact(
            "collective_calls",
            "Collective calls",
            calls.height,
            "count",
            None,
            "Calls of collectives and point-to-point transfers, of all workers.",
        ),
        Fact(
            "unmatched_calls",
            "Unmatched calls",
            calls["match"].null_count(),
            "count",
            None,
            "Calls that no other worker of the run has.",
        ),
    )


def _notes(
    traces: Mapping[str, Trace], windows: Mapping[str, StepWindows], matching: Matching
) -> tuple[Note, ...]:
    notes = []
    left_out = {worker: w.left_out for worker, w in windows.items() if w.left_out}
    if left_out:
        notes.append(
            Note(
                "quality",
                "step_left_out",
                "info",
                "Left out of overlap and wait: last steps whose device work is incomplete, on "
                f"{_listed(list(left_out))}.",
                {"steps": left_out},
            )
        )
    absent = [worker for worker in traces if worker not in windows]
    if absent:
        notes.append(
            Note(
                "quality",
                "step_absent",
                "warning",
                f"The selected steps are not in the recordings of {_listed(absent)}.",
                {"workers": absent},
            )
        )
    unmatched = matching.calls.filter(pl.col("match").is_null())
    if unmatched.height:
        reasons = dict(unmatched["unmatched_reason"].value_counts().iter_rows())
        text = "; ".join(f"{count}: {reason}" for reason, count in sorted(reasons.items()))
        notes.append(
            Note(
                "quality",
                "collective_unmatched",
                "info" if len(traces) < 2 else "warning",
                f"{unmatched.height} of {matching.calls.height} calls have no match, so no "
                f"transfer and wait ({text}).",
                {"count": unmatched.height, "reasons": reasons},
            )
        )
    short = matching.calls.filter(pl.col("match").is_not_null()).filter(
        pl.col("members") < pl.col("group_size")
    )
    if short.height:
        notes.append(
            Note(
                "quality",
                "collective_partial",
                "warning",
                f"{short.height} calls belong to groups with ranks whose recordings are not "
                "here; if those arrived last, the transfer shown includes waiting for them.",
                {"count": short.height},
            )
        )
    return tuple(notes)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN_NAMES]) + (" …" if len(names) > _SHOWN_NAMES else "")


def _missing(trace: Trace) -> str | None:
    if records(trace).frame.height:
        return None
    return "The recording holds no communication (collectives or transfers between ranks)."


SPEC = ViewSpec(
    name="distributed",
    title="Distributed",
    help="Do the workers compute, communicate or wait for each other, and who holds them up?",
    scope="run",
    tables=(OVERLAP, WAIT, COLLECTIVES, DEVICES, STRAGGLERS, UNMATCHED),
    function=distributed,
    missing=_missing,
    reads_summaries=True,
)
