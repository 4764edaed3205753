"""The optimizer updates its parameters one by one on the host."""

from __future__ import annotations

from torch_tb_profiler.analysis.algebra.intervals import union
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.settings import settings_finding, settings_table
from torch_tb_profiler.trace.categories import Category

CODE = "optimizer_loop"
EVIDENCE = settings_table(CODE)
FUSED_ON_HOST = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})
"""Optimizers with a fused form for CPUs since torch 2.4."""


def detect(context: Context) -> Finding | None:
    """A program without devices does not use the fused form of its optimizer, and spends more than
    the threshold of the step in it. For devices, ``optimizer_not_fused`` is the finding."""
    settings = context.trace.meta.info.settings
    is_possible = settings.optimizer in FUSED_ON_HOST and settings.optimizer_fused is False
    if not is_possible or not context.trace.device_work.is_empty():
        return None
    ranges = context.ranges_of(Category.OPTIMIZER)
    start = ranges["start_ns"].to_numpy()
    time = context.within_steps(union(start, start + ranges["dur_ns"].to_numpy()))
    return settings_finding(
        context,
        EVIDENCE,
        {"optimizer": settings.optimizer, "fused": False},
        context.per_step_ns(time),
        values={"optimizer": settings.optimizer},
    )
