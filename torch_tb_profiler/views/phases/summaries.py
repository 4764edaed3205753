"""The tables that sum events by kind: event types, memory operations and user ranges.

Their rows are those of :mod:`torch_tb_profiler.views.summed_rows`.
Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.schema import TableSpec

EVENT_TYPES = TableSpec(
    "event_types",
    "Event types",
    "One row per event type of the recording. Types overlap (a kernel launch is inside an "
    "operator), so rows do not add up.",
    summed_rows.EVENT_TYPE_COLUMNS,
    sort="-side,-time_us,type",
    is_summary=True,
)

MEMORY_OPERATIONS = TableSpec(
    "memory_operations",
    "Memory operations",
    "One row per kind of copy or memset and the host call that requested it.",
    summed_rows.MEMORY_OPERATION_COLUMNS,
    sort="-gpu_total_us,-cpu_total_us,name,host_call",
    is_summary=True,
    when_empty="The selection holds no copy or memset of memory.",
)

USER_RANGES = TableSpec(
    "user_ranges",
    "User ranges",
    "One row per name of a range (record_function, NVTX).",
    summed_rows.USER_RANGE_COLUMNS,
    sort="-cpu_total_us,name,thread",
    is_summary=True,
    when_empty="The selection holds no ranges besides steps, data loading, optimizers and passes, "
    "which are event types.",
    two_sided=True,
)
