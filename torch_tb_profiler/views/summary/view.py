"""The summary: the tables that Paddle's profiler prints, of any trace, for the terminal.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.operators.printed.nodes import is_paddle
from torch_tb_profiler.analysis.selection import Selection, chosen_group_by
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Table, View
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.summary import PARAMETERS, columns, printed
from torch_tb_profiler.views.summary.operators import operator_table
from torch_tb_profiler.views.summary.rows import (
    device_table,
    distributed_table,
    kernel_table,
    memory_table,
    model_table,
    peaks_table,
)


def summary(trace: Trace, selection: Selection, *, domain: str | None = None) -> View:
    """Every table of a selection; ranges of one domain where it is given.

    Raises:
        SelectionError: steps or grouping make no sense for this trace.
    """
    grouped = chosen_group_by(selection, columns.GROUP_BYS).split("+")
    by_thread = "thread" in grouped
    with_parts = "parts" in grouped
    tables: tuple[Table, ...]
    if is_paddle(trace):
        tables = (
            printed.device_table(trace, selection),
            printed.overview_table(trace, selection),
            printed.model_table(trace, selection),
            printed.distributed_table(trace, selection),
            printed.kernel_table(trace, selection),
            printed.operator_table(trace, selection, by_thread=by_thread, with_parts=with_parts),
            printed.memory_manipulation_table(trace, selection),
            printed.user_table(trace, selection, domain=domain, by_thread=by_thread),
        )
    else:
        tables = (
            device_table(trace, selection),
            summed_rows.event_types_table(columns.OVERVIEW, trace, selection),
            model_table(trace, selection),
            distributed_table(trace, selection),
            kernel_table(trace, selection),
            operator_table(trace, selection, by_thread=by_thread, with_parts=with_parts),
            summed_rows.memory_operations_table(columns.MEMORY_MANIPULATION, trace, selection),
            summed_rows.user_ranges_table(
                columns.USER_DEFINED, trace, selection, domain=domain, by_thread=by_thread
            ),
        )
    tables += (peaks_table(trace, selection), memory_table(trace, selection))
    return View(
        tables={table.spec.name: table for table in tables},
        notes=quality_notes(trace, LINK_ISSUES),
    )


SPEC = ViewSpec(
    name="summary",
    title="Summary",
    help="What do the summary tables of Paddle's profiler show for this recording?",
    scope="trace",
    parameters=PARAMETERS,
    tables=columns.TABLES,
    function=summary,
    group_bys=columns.GROUP_BYS,
    on_pages=False,
    sorts_every_table=True,
    sort_names=columns.SORT_NAMES,
)
