"""``op_type``: a row per type of operators."""

from __future__ import annotations

from torch_tb_profiler.reports.dlprof.table import (
    Report,
    ReportTable,
    Views,
    frame_of,
    renamed,
    sixteen_times,
)

SOURCE = ("operator_types", "operator_types")

_TITLES = {
    "Op Name": "type",
    "No. Nodes": "operators",
    "No. Calls": "timed_calls",
    "TC Eligibility": "tensor_core_eligible",
    "Using TC": "tensor_core_used",
    **sixteen_times(),
}


def op_type(views: Views) -> Report:
    """The report, in the order of the view. Calls are those that the times are of."""
    return Report("op_type", (ReportTable(None, renamed(frame_of(views, SOURCE), _TITLES)),))
