"""The phases of steps as one table: how often, how long on the host, what devices did for them.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.operators.summaries.calls import FIGURES, SIDES
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.phases.evidence import DETECTED_PHASES, Phase
from torch_tb_profiler.analysis.steps.phases.times import host_steps, phase_calls, phase_work
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

STEP, OTHERS = "ProfileStep", "Others"
TITLES = {
    Phase.DATALOADER: "Dataloader",
    Phase.FORWARD: "Forward",
    Phase.BACKWARD: "Backward",
    Phase.OPTIMIZER: "Optimization",
}

_SCHEMA = {
    "name": pl.String,
    "calls": pl.Int64,
    **{f"{side}_{figure}_ns": pl.Float64 for side in SIDES for figure in FIGURES},
}


class _Row(Struct, frozen=True):
    """One row: the times of its calls on host and device, and device work of none of them."""

    name: str
    cpu_ns: Int64
    gpu_ns: Int64
    gpu_elsewhere_ns: int = 0

    @property
    def totals(self) -> tuple[int, int]:
        """Time on host and device of all calls."""
        return int(self.cpu_ns.sum()), int(self.gpu_ns.sum()) + self.gpu_elsewhere_ns


def model_summary(trace: Trace, selection: Selection) -> pl.DataFrame:
    """``name`` (:data:`STEP`, the phases that were found, :data:`OTHERS`), ``calls``, and the times
    of ``summed``; of what remains of the steps only totals.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    steps = host_steps(trace, selection)
    calls = phase_calls(trace, selection, steps)
    work = phase_work(trace, selection, steps, calls)
    gpu_ns = trace.device_work["dur_ns"].to_numpy()[work.row]
    whole = _Row(STEP, steps.end_ns - steps.start_ns, _sums(work.step, gpu_ns, len(steps.row)))
    of_calls = _sums(work.call, gpu_ns, len(calls.step))
    rows = [whole]
    for phase in DETECTED_PHASES:
        own = calls.phase == phase
        elsewhere_ns = int(gpu_ns[(work.phase == phase) & (work.call < 0)].sum())
        if own.any():
            cpu_ns = (calls.end_ns - calls.start_ns)[own]
            rows.append(_Row(TITLES[phase], cpu_ns, of_calls[own], elsewhere_ns))
    cpu_ns, gpu_total_ns = (
        total - sum(row.totals[side] for row in rows[1:]) for side, total in enumerate(whole.totals)
    )
    known = no_device_time(trace) is None
    values = [_values(row, known) for row in rows]
    if len(rows) > 1:
        values.append(
            {
                "name": OTHERS,
                "cpu_total_ns": cpu_ns,
                "gpu_total_ns": gpu_total_ns if known else None,
            }
        )
    return pl.DataFrame(values, schema=_SCHEMA)


def _sums(row: Int64, values: Int64, count: int) -> Int64:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, row[row >= 0], values[row >= 0])
    return sums


def _values(row: _Row, gpu_known: bool) -> dict[str, object]:
    values: dict[str, object] = {"name": row.name, "calls": len(row.cpu_ns)}
    sides = zip(SIDES, (row.cpu_ns, row.gpu_ns), row.totals, strict=True)
    for side, times, total in sides:
        if len(times) and (side == "cpu" or gpu_known):
            figures = (total, times.mean(), times.max(), times.min())
            for figure, value in zip(FIGURES, figures, strict=True):
                values[f"{side}_{figure}_ns"] = float(value)
    return values
