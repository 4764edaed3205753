"""The table of calls into the runtime and driver of a device.

Definitions: ``docs/metrics.md#api-calls``.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.api_calls import api_call_groups
from torch_tb_profiler.analysis.recording.device_links import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed, own_reason
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import schema_before, share_columns, with_shares

NO_CALL = "No call of it is in the selection, only work that it launched."
NO_HOST_TIME = "These calls take no time on the host."
_LAUNCHED = ("launched", "device_us", "kernels", "copies", "sets")


def _count(key: str, title: str, text: str) -> Column:
    return Column(key, title, "integer", "count", text, additive=True)


def _of_call(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="call")


API_CALLS = TableSpec(
    "api_calls",
    "API calls",
    "One row per call of a device's runtime or driver on the host, by its name.",
    (
        Column("name", "Name", "string", None, "Name of the call."),
        _count("calls", "Calls", "How often it was called."),
        Column(
            "host_self_us",
            "Host Self",
            "number",
            "us",
            "Time of the host in the call itself, without API calls inside it: rows add up to the "
            "time of their threads in such calls.",
            family="host",
            additive=True,
        ),
        Column(
            "host_total_us",
            "Host Total",
            "number",
            "us",
            "Summed duration on the host, API calls inside it included; a call inside another one "
            "of its name is part of that.",
            family="host",
        ),
        _of_call("mean_us", "Mean", "Mean duration of a call, what is inside included."),
        _of_call("min_us", "Min", "Shortest duration."),
        _of_call("max_us", "Max", "Longest duration."),
        _count("launched", "Launched", "Kernels, copies and sets that it launched."),
        Column(
            "device_us",
            "Device Time Launched",
            "number",
            "us",
            "Summed duration of what it launched; what ran at the same time adds up.",
            additive=True,
        ),
        _count("kernels", "Kernels", "Kernels that it launched."),
        _count("copies", "Copies", "Copies that it launched."),
        _count("sets", "Sets", "Sets of memory that it launched."),
        *share_columns("Host Self", "the host time of all API calls of the selection"),
    ),
    sort="-host_self_us,-host_total_us,name",
    is_summary=True,
    when_empty="No API call is in the selection.",
)


def api_calls_table(trace: Trace, selection: Selection) -> Table:
    """The rows of :data:`API_CALLS`, in default order.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    groups = api_call_groups(trace, selection)
    frame = groups.with_columns(
        name=codes.texts(trace, groups["name_code"]),
        host_self_us=microseconds(groups["self_ns"]),
        host_total_us=microseconds(groups["total_ns"]),
        mean_us=microseconds(groups["dur_ns"], groups["calls"]),
        min_us=microseconds(groups["min_ns"]),
        max_us=microseconds(groups["max_ns"]),
        device_us=microseconds(groups["device_ns"]),
    )
    unknown = no_device_time(trace)
    if unknown is not None:
        frame = frame.with_columns(pl.lit(None).alias(key) for key in _LAUNCHED)
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in schema_before(API_CALLS).items())
    reasons = dict.fromkeys(("mean_us", "min_us", "max_us"), NO_CALL)
    reasons |= dict.fromkeys(_LAUNCHED, unknown or "")
    spec = replace(API_CALLS, when_empty=own_reason(trace, "runtime") or API_CALLS.when_empty)
    table = in_default_order(Table(spec, shown, needed(shown, reasons)))
    return with_shares(table, "host_self_us", NO_HOST_TIME)
