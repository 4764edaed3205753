"""Collectives and links between ranks as reported in files of the workers.

Definitions: ``docs/views-distributed.md#as-recorded``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.reported_by_profiler import rows_of_steps
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.recorded import SOURCE, recorded_frame, recorded_table
from torch_tb_profiler.views.schema import Column, Table, TableSpec

FIRST_ROWS = 2000
"""Rows that come with the view; more where the table itself is asked for."""

_WORKER = Column("worker", "Worker", "string", None, "Worker whose file holds the row.")
_STEP = Column("step", "Step", "string", None, "Number of the step.")
_NAME = Column("name", "Name", "string", None, "Name of the collective in the file.")
_GROUP = Column("group", "Group", "string", None, "Process group.")


def _time(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="time")


RECORDED_COLLECTIVES = TableSpec(
    "recorded_collectives",
    "Collectives as recorded",
    "One row per call of a collective or transfer, as reported in a file of the worker.",
    (
        _WORKER,
        _STEP,
        Column("kind", "Kind", "string", None, "collective or p2p (from one rank to another)."),
        _NAME,
        _GROUP,
        Column("start_us", "Start", "number", "us", "Start, on the clock of the file."),
        _time("elapse_us", "Elapsed", "From start to end."),
        _time("transit_us", "Transit", "Time in which data moved."),
        _time("wait_us", "Wait", "Waiting for other ranks."),
        _time("synchronization_us", "Synchronization", "Waiting before the first data."),
        _time("idle_us", "Idle", "Time neither moving data nor waiting."),
        SOURCE,
    ),
    sort="-elapse_us,-transit_us",
)

LINKS = TableSpec(
    "links",
    "Links",
    "One row per collective, pair of ranks and kind of link, as reported in a file of the worker.",
    (
        _WORKER,
        _STEP,
        _NAME,
        _GROUP,
        Column("source_rank", "From", "integer", None, "Sending rank; null: all ranks together."),
        Column("destination_rank", "To", "integer", None, "Receiving rank."),
        Column("transport", "Link", "string", None, "Transport: HCCS, PCIE, RDMA or SDMA."),
        # Rows report the same data by pair, by kind of link and as a total: a sum would be no size.
        Column("size_bytes", "Size", "number", "bytes", "Transferred data."),
        Column("time_us", "Time", "number", "us", "Transfer time."),
        Column("bandwidth_gb_per_s", "Bandwidth", "number", "gb_per_s", "Size over Time."),
        Column(
            "large_packet_pct",
            "Large Packets",
            "number",
            "pct",
            "Share of the data sent in packets large enough for the link.",
        ),
        SOURCE,
    ),
    sort="-time_us",
)

CLUSTER_STEPS = TableSpec(
    "cluster_steps",
    "Communication of the steps as recorded",
    "One row per worker and step, as reported in a file of the worker. A slow stage of a pipeline "
    "has a long Stage; within a stage, a slow worker has a long Without Communication.",
    (
        _WORKER,
        _STEP,
        Column("stage", "Pipeline Stage", "integer", None, "Stage of the worker, from 0."),
        Column("parallel", "Parallelism", "string", None, "How the job is parallel."),
        _time(
            "without_communication_us",
            "Without Communication",
            "The step without Communication Alone: computation, and time in which nothing ran.",
        ),
        _time(
            "communication_alone_us",
            "Communication Alone",
            "Communication not overlapped with computation.",
        ),
        _time("stage_us", "Stage", "The step without Receive Alone."),
        _time(
            "receive_alone_us",
            "Receive Alone",
            "Receiving from other stages, not overlapped with anything else.",
        ),
        _time(
            "collective_alone_us",
            "Collectives Alone",
            "Communication other than receiving, not overlapped with computation.",
        ),
        SOURCE,
    ),
)

_REASONS = {
    RECORDED_COLLECTIVES.name: {"name": "The file has the sum of all collectives of the step."},
    CLUSTER_STEPS.name: dict.fromkeys(
        ("stage_us", "receive_alone_us", "collective_alone_us"), "The worker is in no pipeline."
    ),
}
"""Why columns are null, where that is not that the file has no such value."""


def recorded_tables(traces: Mapping[str, Trace], selection: Selection) -> list[Table]:
    """The tables that any worker has, of the steps of ``selection``.

    Raises:
        SelectionError: steps that are malformed or in no worker.
    """
    tables = []
    for spec in (RECORDED_COLLECTIVES, LINKS, CLUSTER_STEPS):
        rows = recorded_rows(spec.name, traces, selection)
        if rows is not None:
            if "bandwidth_gbps" in rows.columns:
                rows = rows.rename({"bandwidth_gbps": "bandwidth_gb_per_s"})
            keys = [key.removeprefix("-") for key in spec.sort.split(",") if key]
            if keys:
                rows = rows.sort(keys, descending=True, nulls_last=True, maintain_order=True)
            tables.append(_first(rows.height, _filled(spec, rows)))
    return tables


def recorded_rows(
    name: str, traces: Mapping[str, Trace], selection: Selection
) -> pl.DataFrame | None:
    """The rows of a side table of all workers, of the selected steps, with ``worker``; None where
    no worker has it.

    Raises:
        SelectionError: steps that are malformed or in no worker.
    """
    parts = [
        rows_of_steps(trace, selection, frame, "step").select(
            pl.lit(worker, pl.String).alias("worker"), pl.all()
        )
        for worker, trace in traces.items()
        if (frame := recorded_frame(trace, name)) is not None
    ]
    return pl.concat(parts) if parts else None


def _filled(spec: TableSpec, rows: pl.DataFrame) -> Callable[[int], Table]:
    return lambda count: recorded_table(spec, rows.head(count), _REASONS.get(spec.name))


def _first(count: int, make: Callable[[int], Table]) -> Table:
    if count <= FIRST_ROWS:
        return make(count)
    return replace(make(FIRST_ROWS), row_count=count, all_rows=lambda: make(count))
