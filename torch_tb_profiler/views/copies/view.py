"""Copies: how much is copied from where to where, how fast, and what that costs.

Definitions: ``docs/views-copies.md``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.intervals import WeightProfile
from torch_tb_profiler.analysis.kernels.copy_bandwidth import selected_copies, timed_copies
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.copies.answer import answer
from torch_tb_profiler.views.copies.columns import KINDS, SIZES
from torch_tb_profiler.views.copies.facts import copy_facts, copy_notes
from torch_tb_profiler.views.copies.rows import kinds_table, sizes_table
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Line, Series, View
from torch_tb_profiler.views.spec import ViewSpec

NOTHING = "The recording contains no device memory copies."

MAX_STRETCHES = 400
"""Points per line at most."""


def rate_series(trace: Trace, copies: pl.DataFrame) -> Series:
    """Bytes copied per time in equally long stretches from the first to the last copy, by kind; a
    copy moves its bytes evenly while it runs."""
    sized = copies.filter(pl.col("bytes").is_not_null() & (pl.col("dur_ns") > 0))
    lines = []
    if sized.height:
        start = sized["start_ns"].to_numpy()
        end = start + sized["dur_ns"].to_numpy()
        edges = distinct_values(
            np.linspace(start.min(), end.max(), MAX_STRETCHES + 1).astype(np.int64)
        )
        x = ((edges - trace.meta.start_ns) / NS_PER_US).tolist()
        rate = (sized["bytes"] / sized["dur_ns"]).to_numpy()
        kinds = sized["kind"].fill_null("other").to_numpy()
        for kind in sorted(set(kinds.tolist())):
            own = kinds == kind
            profile = WeightProfile(start[own], end[own], rate[own])
            moved = profile.integrals(edges[:-1], edges[1:])
            # Nothing from the end of the last copy on: a stair holds its level to the next point.
            lines.append(Line(kind, x, [*(moved / np.diff(edges)).tolist(), 0.0]))
    return Series(
        "Rate of copies",
        "stair",
        "Time since the start of the recording",
        "us",
        "Rate",
        "gb_per_s",
        tuple(lines),
    )


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
    title="Kernels: Copies",
    help="How much data is copied between host and devices, how fast, and does it cost time?",
    scope="trace",
    tables=(KINDS, SIZES),
    function=copies,
    missing=_missing,
    leading_facts=("exposed_us",),
    by_phase=True,
    answer=answer,
)
