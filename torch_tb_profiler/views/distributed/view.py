"""Distributed: computation against communication, transfer against waiting, over all workers.

Definitions: ``docs/views-distributed.md#definitions``. Communication is what the knowledge rules
and collective metadata say; calls match by group and sequence, so workers may differ in count;
what has no match is listed.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.certainty import communication_certainty
from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import select_calls, selected_windows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.collectives import STRAGGLERS, stragglers_table
from torch_tb_profiler.views.distributed.answer import answer
from torch_tb_profiler.views.distributed.collectives import collectives_table
from torch_tb_profiler.views.distributed.columns import (
    COLLECTIVES,
    DEVICES,
    OVERLAP,
    UNMATCHED,
    WAIT,
)
from torch_tb_profiler.views.distributed.devices import devices_table
from torch_tb_profiler.views.distributed.node_map import NODE_LINKS, NODE_MAP, node_map_tables
from torch_tb_profiler.views.distributed.notes import distributed_notes, workers_with_events
from torch_tb_profiler.views.distributed.recorded import (
    CLUSTER_STEPS,
    LINKS,
    RECORDED_COLLECTIVES,
    recorded_rows,
    recorded_tables,
)
from torch_tb_profiler.views.distributed.times import overlap_table, wait_table, worker_steps
from torch_tb_profiler.views.distributed.unmatched import unmatched_table
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.programs import job_ranks
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec


def distributed(traces: Mapping[str, Trace], selection: Selection) -> View:
    """The distributed view of the workers of one run and span; one worker is enough.

    Raises:
        SelectionError: steps are malformed, or no worker has them.
    """
    traces = in_rank_order(traces)
    windows = selected_windows(traces, selection)
    steps = worker_steps(windows)
    chosen = {worker: traces[worker] for worker in windows}
    matching = select_calls(match(traces), traces, selection, set(windows))
    overlap, wait = overlap_table(chosen, steps), wait_table(matching, steps)
    devices = devices_table(traces)
    links = recorded_rows(LINKS.name, chosen, selection)
    tables = (
        overlap,
        wait,
        collectives_table(matching, traces),
        devices,
        _stragglers(matching, traces),
        unmatched_table(matching, traces),
        *recorded_tables(chosen, selection),
        *node_map_tables(traces, overlap, wait, devices, links),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        facts=_facts(traces, matching),
        notes=distributed_notes(traces, windows, matching),
    )


def _stragglers(matching: Matching, traces: Mapping[str, Trace]) -> Table:
    table = stragglers_table(matching)
    is_known = pl.col("worker").is_in(list(workers_with_events(traces)))
    return replace(table, frame=table.frame.filter(is_known))


def _facts(traces: Mapping[str, Trace], matching: Matching) -> tuple[Fact, ...]:
    ranks, unknown = job_ranks(traces)
    calls = matching.calls
    return (
        Fact("worker_count", "Workers", len(traces), "count", None, "Number of loaded recordings."),
        Fact(
            "world_size",
            "World size",
            ranks,
            "count",
            None,
            "Ranks of the job, as recorded.",
            unknown,
        ),
        Fact(
            "collective_calls",
            "Collective calls",
            calls.height,
            "count",
            None,
            "Calls of collectives and point-to-point transfers on all workers.",
        ),
        Fact(
            "unmatched_calls",
            "Unmatched calls",
            calls["match"].null_count(),
            "count",
            None,
            "Calls without a counterpart on another worker of the run.",
        ),
    )


NOTHING = "The recording holds no communication (collectives or transfers between ranks)."
RECORDED = (RECORDED_COLLECTIVES.name, LINKS.name, CLUSTER_STEPS.name)


def _missing(trace: Trace) -> str | None:
    if records(trace).frame.height or any(name in trace.side for name in RECORDED):
        return None
    unknown = communication_certainty(trace).null_reason
    return unknown or missing_reason(trace, "communication", NOTHING)


SPEC = ViewSpec(
    name="distributed",
    title="Distributed: Overlap & wait, Collectives",
    help="Do the workers compute, communicate or wait for each other, and which one is late?",
    scope="run",
    tables=(
        OVERLAP,
        WAIT,
        COLLECTIVES,
        DEVICES,
        STRAGGLERS,
        UNMATCHED,
        RECORDED_COLLECTIVES,
        LINKS,
        CLUSTER_STEPS,
        NODE_MAP,
        NODE_LINKS,
    ),
    function=distributed,
    missing=_missing,
    reads_summaries=True,
    has_findings=True,
    answer=answer,
)
