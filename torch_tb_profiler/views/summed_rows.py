"""Rows that several views show: types of events, operations on memory, ranges of the user.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import total
from torch_tb_profiler.analysis.kernels.memory_operations import memory_operations
from torch_tb_profiler.analysis.operators.summaries.calls import step_device_time_ns, step_time_ns
from torch_tb_profiler.analysis.operators.summaries.event_types import (
    DEVICE,
    HOST,
    event_types,
    steps_by_side,
)
from torch_tb_profiler.analysis.operators.summaries.user_ranges import user_ranges
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.call_times import (
    STEP_TIME,
    call_columns,
    side_keys,
    time_reasons,
    with_times,
)
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import of_whole

NO_STEP_TIME = "The selected steps take no time on the host."
NO_CALL = "No host call that launched it is recorded."
NO_HOST_TIME = "No host call that copies or sets memory launched it (for example, a graph did)."
NO_DEVICE_PART = "No device work of these calls is recorded."
NO_BYTES = "The number of bytes was not recorded."
NO_RATE = "The number of bytes was not recorded, or the duration is 0."

EVENT_TYPE_COLUMNS = (
    Column(
        "type",
        "Type",
        "string",
        None,
        "Event category as recorded (cpu_op, kernel; Operator, UserDefined), or "
        "ProfileStep, Dataloader, Optimization, Module for events recognized by name. "
        "Communication is the subset of communication kernels.",
    ),
    Column("side", "Side", "string", None, "host or device."),
    Column(
        "calls",
        "Calls",
        "integer",
        "count",
        "Number of events; of nested phases only the outermost.",
    ),
    Column(
        "time_us",
        "Time",
        "number",
        "us",
        "Time in which at least one of them ran, over all threads, devices and streams; "
        "overlapping time counts once.",
    ),
    Column(
        "pct",
        "Share",
        "number",
        "pct",
        f"The part of Time in the steps as share of {STEP_TIME}; on devices, of the steps up to "
        "the end of their device work.",
    ),
)

MEMORY_OPERATION_COLUMNS = (
    Column(
        "name",
        "Name",
        "string",
        None,
        "Memcpy with its direction if the device work is recorded (HtoD: host to device), or "
        "Memset.",
    ),
    Column(
        "host_call",
        "Host Call",
        "string",
        None,
        "The outermost device API call or range named like a copy or memset; otherwise the call "
        "that launched it.",
    ),
    Column(
        "calls",
        "Calls",
        "integer",
        "count",
        "Host calls; a copy or memset without such a call counts as one.",
        additive=True,
    ),
    *call_columns(STEP_TIME),
    Column("bytes", "Size", "integer", "bytes", "Bytes copied or set.", additive=True),
    Column(
        "bandwidth_gbps",
        "Bandwidth",
        "number",
        "gb_per_s",
        "Size divided by device time, in 10⁹ bytes per second, over operations with a recorded "
        "size.",
    ),
)

SHARE_OF_RANGES = (
    f"Share of {STEP_TIME} in which one of them lasted: moments of several count once, and what "
    "lies outside the steps does not."
)
USER_RANGE_COLUMNS = (
    Column("name", "Name", "string", None, "Name of the range."),
    Column(
        "domain",
        "Domain",
        "string",
        None,
        "Owner of the range: user, or the framework it belongs to.",
    ),
    Column("thread", "Thread", "string", None, "Thread of the range; all: threads are merged."),
    Column("calls", "Calls", "integer", "count", "Number of times it was entered.", additive=True),
    *(
        Column("cpu_pct", "CPU Share", "number", "pct", SHARE_OF_RANGES)
        if column.key == "cpu_pct"
        else column
        for column in call_columns(STEP_TIME)
    ),
)


def filled(spec: TableSpec, rows: pl.DataFrame, reasons: dict[str, str]) -> Table:
    """``rows`` as the table of ``spec``, in its default order, with the reasons that it needs."""
    return in_default_order(unsorted(spec, rows, reasons))


def unsorted(spec: TableSpec, rows: pl.DataFrame, reasons: dict[str, str]) -> Table:
    """``rows`` as :func:`filled`, in the order in which they come."""
    shown = rows.select(pl.col(key).cast(dtype) for key, dtype in spec.polars_schema().items())
    return Table(spec, shown, needed(shown, reasons))


def event_types_table(spec: TableSpec, trace: Trace, selection: Selection) -> Table:
    """Types of events, in a table with :data:`EVENT_TYPE_COLUMNS`.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    types = event_types(trace, selection)
    shares = {
        side: of_whole(types["in_steps_ns"], total(spans))
        for side, spans in steps_by_side(trace, selection).items()
    }
    on_device = types["side"] == DEVICE
    rows = types.with_columns(
        time_us=microseconds(types["time_ns"]),
        pct=pl.when(on_device).then(shares[DEVICE]).otherwise(shares[HOST]),
    )
    return filled(spec, rows, {"pct": NO_STEP_TIME})


def memory_operations_table(spec: TableSpec, trace: Trace, selection: Selection) -> Table:
    """Copies and memsets of memory, in a table with :data:`MEMORY_OPERATION_COLUMNS`.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    groups = memory_operations(trace, selection)
    # Bytes per ns are 10^9 bytes per second.
    rate = pl.col("bytes") / pl.col("sized_ns")
    rows = with_times(groups, *_wholes(trace, selection)).with_columns(
        bandwidth_gbps=pl.when(pl.col("sized_ns") > 0).then(rate)
    )
    reasons = {
        **dict.fromkeys(side_keys("cpu"), NO_HOST_TIME),
        **dict.fromkeys(side_keys("gpu"), NO_DEVICE_PART),
        "host_call": NO_CALL,
        "bytes": NO_BYTES,
        "bandwidth_gbps": NO_RATE,
    }
    return filled(spec, rows, reasons)


def user_ranges_table(
    spec: TableSpec,
    trace: Trace,
    selection: Selection,
    *,
    domain: str | None,
    by_thread: bool = False,
) -> Table:
    """Ranges of users and frameworks, of one domain where it is given, in a table with
    :data:`USER_RANGE_COLUMNS`.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    groups = user_ranges(trace, selection, domain=domain, by_thread=by_thread)
    wholes = _wholes(trace, selection)
    # Of ranges on several threads, or beyond the steps, sums are no share of the steps.
    share = of_whole(groups["in_steps_ns"], wholes[0])
    rows = with_times(groups, *wholes).with_columns(cpu_pct=share, rank=pl.int_range(pl.len()))
    return filled(spec, rows, time_reasons(trace))


def _wholes(trace: Trace, selection: Selection) -> tuple[int, int]:
    """What shares of the host and of devices are of."""
    return step_time_ns(trace, selection), step_device_time_ns(trace, selection)
