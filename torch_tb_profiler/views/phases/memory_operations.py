"""The table of copies and sets of memory, as the host called them.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.schema import Table, TableSpec

MEMORY_OPERATIONS = TableSpec(
    "memory_operations",
    "Memory operations",
    "One row per kind of copy or set and the host call that requested it.",
    summed_rows.MEMORY_OPERATION_COLUMNS,
    sort="-gpu_total_us,-cpu_total_us,name,host_call",
    is_summary=True,
    when_empty="The selection holds no copy or set of memory.",
)


def memory_operations_table(trace: Trace, selection: Selection) -> Table:
    """The rows of :data:`MEMORY_OPERATIONS`, in default order.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    return summed_rows.memory_operations_table(MEMORY_OPERATIONS, trace, selection)
