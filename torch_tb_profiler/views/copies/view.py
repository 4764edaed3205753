"""Copies: how much is copied from where to where, how fast, and what that costs.

Definitions: ``docs/views-copies.md``.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.kernels.copy_bandwidth import selected_copies, timed_copies
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.copies.columns import KINDS, SIZES
from torch_tb_profiler.views.copies.curve import rate_series
from torch_tb_profiler.views.copies.facts import copy_facts, copy_notes
from torch_tb_profiler.views.copies.rows import kinds_table, sizes_table
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import ViewSpec

NOTHING = "The recording contains no device memory copies."


def copies(trace: Trace, selection: Selection) -> View:
    """The copies of a selection.

    Raises:
        SelectionError: the selection names steps or a phase the trace does not have.
    """
    selected = selected_copies(trace, selection)
    tables = (kinds_table(trace, selected), sizes_table(trace, selected))
    return View(
        tables={table.spec.name: table for table in tables},
        series={"rate": rate_series(trace, selected)},
        facts=copy_facts(trace, selected),
        notes=(*copy_notes(trace, selected), *quality_notes(trace, LINK_ISSUES)),
    )


def _missing(trace: Trace) -> str | None:
    return None if timed_copies(trace).height else missing_reason(trace, "copies", NOTHING)


SPEC = ViewSpec(
    name="copies",
    title="Copies",
    help="How much data is copied between host and devices, how fast, and does it cost time?",
    scope="trace",
    tables=(KINDS, SIZES),
    function=copies,
    missing=_missing,
    leading_facts=("exposed_us",),
    by_phase=True,
)
