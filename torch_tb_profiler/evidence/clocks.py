"""Clocks of the GPUs of a run, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from torch_tb_profiler.analysis.kernels.durations import clocks
from torch_tb_profiler.trace.model import Trace


def clocks_text(traces: Mapping[str, Trace], worker: str) -> str:
    """``"Its SM clock was 1,200 MHz, that of the others 1,980 MHz."``: of one worker of a run,
    with the median of the others; empty where not all recorded it."""
    recorded = {name: dict(clocks(trace).iter_rows()) for name, trace in traces.items()}
    sentences = []
    for clock, own in recorded[worker].items():
        others = [of.get(clock) for name, of in recorded.items() if name != worker]
        known = [value for value in others if value is not None]
        if known and len(known) == len(others):
            usual = median(known)
            sentences.append(
                f"Its {clock} was {own:,.0f} MHz, that of the others {usual:,.0f} MHz."
            )
    return " ".join(sentences)
