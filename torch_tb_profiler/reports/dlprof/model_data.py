"""``model_data``: the raw tables behind the reports, each call with its operator and
iteration (DLProf's ``--dump_model_data``)."""

from __future__ import annotations

from torch_tb_profiler.reports.dlprof.table import Report, ReportTable, Views, frame_of

_TABLES = {
    "iterations": ("iterations", "iterations"),
    "operators": ("operators", "operators"),
    "operator_calls": ("iteration_operators", "iteration_operators"),
    "kernel_calls": ("iterations", "iteration_kernels"),
}
"""Title → view and table."""


def model_data(views: Views) -> Report:
    """The report: columns under our keys (``docs/columns.md``)."""
    tables = (
        ReportTable(title, frame_of(views, source))
        for title, source in _TABLES.items()
        if source[0] in views
    )
    return Report("model_data", tuple(tables))
