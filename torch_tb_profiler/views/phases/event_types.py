"""The table of types of events.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.schema import Table, TableSpec

EVENT_TYPES = TableSpec(
    "event_types",
    "Event types",
    "One row per event type of the recording. Types overlap (a kernel launch is inside an "
    "operator), so rows do not add up.",
    summed_rows.EVENT_TYPE_COLUMNS,
    sort="-side,-time_us,type",
    is_summary=True,
)


def event_types_table(trace: Trace, selection: Selection) -> Table:
    """The rows of :data:`EVENT_TYPES`, in default order.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    return summed_rows.event_types_table(EVENT_TYPES, trace, selection)
