"""``group_node``: a row per inner node of a hierarchy."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED
from torch_tb_profiler.reports.dlprof.table import (
    Report,
    ReportTable,
    Views,
    frame_of,
    renamed,
    sixteen_times,
)

SOURCE = ("groups", "groups")

_TITLES = {
    "Name": "path",
    "No. Calls Aggregated": "operator_calls",
    "No. TC Eligibility Ops": "tensor_core_eligible_operators",
    "No. Node Ops Using TC": "tensor_core_using_operators",
    **sixteen_times(),
}


def group_node(views: Views) -> Report:
    """The report; what holds operators is an inner node, as operators are the leaves."""
    frame = frame_of(views, SOURCE).filter(~pl.col("path").str.starts_with(UNASSOCIATED))
    return Report("group_node", (ReportTable(None, renamed(frame, _TITLES)),))
