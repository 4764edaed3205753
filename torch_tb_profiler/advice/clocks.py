"""Clocks of GPUs, where a recording has them as counters."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.analysis import codes

COUNTERS = {"SM clock": "SM Clock", "memory clock": "Memory Clock"}
"""What a clock is called → start of the name of its counter, in MHz."""


def clocks_text(contexts: Mapping[str, Context], worker: str) -> str:
    """``"Its SM clock was 1,200 MHz, that of the others 1,980 MHz."``: of one worker of a run,
    with the median of the others; empty where not all recorded it."""
    sentences = []
    for title, counter in COUNTERS.items():
        clocks = {name: _mean(each, counter) for name, each in contexts.items()}
        own = clocks.pop(worker)
        others = [clock for clock in clocks.values() if clock is not None]
        if own is not None and others and len(others) == len(clocks):
            usual = median(others)
            sentences.append(
                f"Its {title} was {own:,.0f} MHz, that of the others {usual:,.0f} MHz."
            )
    return " ".join(sentences)


def _mean(context: Context, name: str) -> float | None:
    """Mean of the values of a counter in the steps; None without any."""
    counters = context.trace.counters
    if counters.is_empty():
        return None
    chosen = codes.of_names(
        context.trace,
        counters["name_code"].to_numpy(),
        lambda text: text.startswith(name),
        np.bool_,
    )
    inside = context.inside(counters["time_ns"].to_numpy())
    values = counters["value"].filter(pl.Series(chosen & inside)).drop_nans()
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else None
