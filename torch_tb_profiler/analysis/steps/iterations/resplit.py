"""A recording cut into other steps: the same tables but ``steps`` and ``slices.step``.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.trace.categories import (
    DEVICE_CATEGORIES,
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.model import STEPS, Trace
from torch_tb_profiler.trace.quality import QualityReport

_OF_STEPS = ("no_steps", "step_duplicate", "step_left_out", "several_processes")
"""What the quality report says of the recording's own steps."""

_NEVER_IN_STEPS = (*DEVICE_CATEGORIES, Category.SPAN)


class Edges(Struct, frozen=True, eq=False):
    """Iterations of the host, in order: each begins where the one before ends.

    Attributes:
        start_ns: Start of each.
        end_ns: End of each, not included.
        first: Number of the first.
    """

    start_ns: Int64
    end_ns: Int64
    first: int = 0


def edges_between(trace: Trace, cuts_ns: Int64, *, of_ranks: bool = False) -> Edges:
    """The iterations that the moments ``cuts_ns`` make of ``trace``: one more than there are
    moments, but none that is empty at an end of the recording; without moments the whole.

    They are numbered from 0; those ``of_ranks`` as on the ranks that were recorded earlier.
    """
    first, last = host_range(trace)
    inside = cuts_ns[(cuts_ns > first) & (cuts_ns < last)]
    before = int((cuts_ns <= first).sum()) if of_ranks else 0
    return Edges(np.append(first, inside), np.append(inside, last), before)


def host_range(trace: Trace) -> tuple[int, int]:
    """First start and last end on the host: of operators and ranges with the device API calls,
    without any of python frames, without those of everything."""
    category = trace.slices["category"].to_numpy()
    start = trace.slices["start_ns"].to_numpy()
    end = start + trace.slices["dur_ns"].to_numpy()
    for categories in ((*NODE_CATEGORIES, Category.RUNTIME), PYTHON_CATEGORIES, tuple(Category)):
        wanted = np.zeros(len(Category), np.bool_)
        wanted[list(categories)] = True
        rows = np.flatnonzero(wanted[category])
        if len(rows):
            return int(start[rows].min()), int(end[rows].max())
    return 0, 0


def with_steps_between(trace: Trace, edges: Edges) -> Trace:
    """``trace`` with the iterations of ``edges`` as its steps, named by their numbers.

    Host slices are in the iteration they start in, device work in that of its launch, and an
    iteration is stretched by its device work as steps are (``docs/metrics.md#steps``).
    """
    step = _steps_of_slices(trace, edges)
    quality = QualityReport(
        {code: count for code, count in trace.quality.counts.items() if code not in _OF_STEPS},
        {code: texts for code, texts in trace.quality.examples.items() if code not in _OF_STEPS},
    )
    numbers = pl.Series("step", step)
    return replace(
        trace,
        steps=_steps_table(trace, edges, step),
        slices=trace.slices.with_columns(numbers.set(numbers < 0, None)),
        quality=quality,
        derived=trace.derived.for_split(),
    )


def _steps_of_slices(trace: Trace, edges: Edges) -> Int32:
    """Per slice its iteration, -1 for none."""
    start = trace.slices["start_ns"].to_numpy()
    number = np.searchsorted(edges.start_ns, start, "right") - 1
    number[start >= edges.end_ns[-1]] = -1
    outside = np.zeros(len(Category), np.bool_)
    outside[list(_NEVER_IN_STEPS)] = True
    number[outside[trace.slices["category"].to_numpy()]] = -1
    work = trace.device_work
    launch, owner = indices(work["launch"]), indices(work["owner"])
    number[work["slice"].to_numpy()] = gather(number, np.where(launch >= 0, launch, owner))
    return number.astype(np.int32)


def _steps_table(trace: Trace, edges: Edges, step: Int32) -> pl.DataFrame:
    count = len(edges.start_ns)
    work = trace.device_work
    of_work = step[work["slice"].to_numpy()]
    rows = np.flatnonzero(of_work >= 0)
    device_end = np.full(count, np.iinfo(np.int64).min)
    ends = work["start_ns"].to_numpy()[rows] + work["dur_ns"].to_numpy()[rows]
    np.maximum.at(device_end, of_work[rows], ends)
    end = np.maximum.accumulate(np.maximum(edges.end_ns, device_end))
    start = np.maximum(edges.start_ns, np.append(edges.start_ns[0], end[:-1]))
    return pl.DataFrame(
        {
            "name": [str(edges.first + number) for number in range(count)],
            "process": pl.Series([None] * count, dtype=pl.Int32),
            "slice": pl.Series([None] * count, dtype=pl.Int64),
            "host_start_ns": edges.start_ns,
            "host_end_ns": edges.end_ns,
            "start_ns": start,
            "end_ns": end,
            "device_events": np.bincount(of_work[rows], minlength=count),
            "kept": np.ones(count, np.bool_),
        },
        schema=STEPS,
    )
