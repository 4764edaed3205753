"""Which part of the step takes the time, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import rows_of
from torch_tb_profiler.views.phases.step_trace import MEAN
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

_PARTS = {
    "interval": "before the forward pass",
    "forward": "forward",
    "backward": "backward",
    "tail": "after the last pass",
}
_NO_PHASE = ("step", "other")
_PHASES = {"dataloader": "data loading"}


def answer(view: View) -> str | None:
    """The parts of the mean step, the largest first; without passes the phases on the host."""
    trace = rows_of(view, "step_trace")
    means = trace.filter(pl.col("step") == MEAN) if trace.height else trace
    if means.height and means["forward_pct"][0] is not None:
        mean = means.row(0, named=True)
        shares = {text: mean[f"{key}_pct"] for key, text in _PARTS.items()}
        known = sorted(((pct or 0, text) for text, pct in shares.items()), reverse=True)
        parts = [f"{percent_text(pct)} {text}" for pct, text in known if pct >= 0.05]
        return f"The mean step takes {duration_text(mean['total_us'])}: {', '.join(parts)}."
    phases = rows_of(view, "phases")
    known_phases = phases.filter(
        ~pl.col("phase").is_in(_NO_PHASE), pl.col("cpu_pct") > 0
    ) if phases.height else phases  # fmt: skip
    if not known_phases.height:
        return "The recording does not show which part of a step is forward or backward."
    ordered = known_phases.sort("cpu_pct", descending=True, maintain_order=True)
    parts = [
        f"{_PHASES.get(row['phase'], row['phase'])} takes {percent_text(row['cpu_pct'])}"
        for row in ordered.iter_rows(named=True)
    ]
    return f"On the host, {', '.join(parts)} of the steps."
