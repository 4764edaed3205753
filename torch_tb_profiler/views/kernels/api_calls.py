"""The table of calls into the runtime and driver of a device.

Definitions: ``docs/metrics.md#api-calls``.
"""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.kernels.api_calls import api_call_groups
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.filling import Rows, fill, microseconds, text
from torch_tb_profiler.views.null_reasons import recorded_reason
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Table, TableSpec, Value
from torch_tb_profiler.views.shares import share_columns, with_shares

NO_CALL = "The selection contains only device work that it launched, not the call itself."
NO_HOST_TIME = "These calls take no time on the host."


def _of_launches(values: Value) -> Value:
    """Values of launched work; null where the recording does not link it to its calls."""

    def linked(rows: Rows) -> pl.Series:
        if no_device_time(rows.trace) is None:
            return values(rows)
        return pl.repeat(None, len(rows), eager=True)

    return linked


def _no_links(trace: Trace) -> str:
    return no_device_time(trace) or ""


def _launched(key: str, title: str, help_text: str) -> Column:
    value = _of_launches(lambda rows: rows[key])
    return Column(
        key, title, "integer", "count", help_text, additive=True, value=value, null_reason=_no_links
    )


def _of_call(key: str, title: str, help_text: str, value: Value) -> Column:
    return Column(
        key, title, "number", "us", help_text, family="call", value=value, null_reason=NO_CALL
    )


API_CALLS = TableSpec(
    "api_calls",
    "API calls",
    "One row per device API function (runtime or driver) called by the host.",
    (
        Column(
            "name", "Name", "string", None, "Name of the API function.", value=text("name_code")
        ),
        Column("calls", "Calls", "integer", "count", "Number of calls.", additive=True),
        Column(
            "host_self_us",
            "Host Self",
            "number",
            "us",
            "Host time in the call without nested API calls: the rows add up to the time that "
            "threads spent in API calls.",
            family="host",
            additive=True,
            value=microseconds("self_ns"),
        ),
        Column(
            "host_total_us",
            "Host Total",
            "number",
            "us",
            "Summed duration on the host, nested API calls included; nested calls of the same "
            "name count once.",
            family="host",
            value=microseconds("total_ns"),
        ),
        _of_call(
            "mean_us",
            "Mean",
            "Mean duration of a call, nested calls included.",
            microseconds("dur_ns", divisor="calls"),
        ),
        _of_call("min_us", "Min", "Shortest duration.", microseconds("min_ns")),
        _of_call("max_us", "Max", "Longest duration.", microseconds("max_ns")),
        _launched("launched", "Launched", "Kernels, copies and memsets that it launched."),
        Column(
            "device_us",
            "Device Time Launched",
            "number",
            "us",
            "Summed duration of the work it launched; concurrent work adds up.",
            additive=True,
            value=_of_launches(microseconds("device_ns")),
            null_reason=_no_links,
        ),
        _launched("kernels", "Kernels", "Kernels that it launched."),
        _launched("copies", "Copies", "Copies that it launched."),
        _launched("sets", "Sets", "Memsets that it launched."),
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
    spec = replace(API_CALLS, when_empty=recorded_reason(trace, "runtime") or API_CALLS.when_empty)
    table = in_default_order(fill(spec, Rows(trace, api_call_groups(trace, selection))))
    return with_shares(table, "host_self_us", NO_HOST_TIME)
