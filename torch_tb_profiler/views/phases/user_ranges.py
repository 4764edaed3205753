"""The table of ranges that users and frameworks named.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.schema import Table, TableSpec

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


def user_ranges_table(trace: Trace, selection: Selection, domain: str | None) -> Table:
    """The rows of :data:`USER_RANGES`, of one domain where it is given, in default order.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    return summed_rows.user_ranges_table(USER_RANGES, trace, selection, domain=domain)
