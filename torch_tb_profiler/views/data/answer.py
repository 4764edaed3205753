"""Whether steps wait for data, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import counted, joined, rows_of, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

_QUEUES = ("device", "host")
_OF_STAGES = ("stages", "stage"), ("pipeline", "type")


def answer(view: View) -> str | None:
    """The share of the time spent waiting, the mean wait, and the stage that limits the steps."""
    return joined((_wait(view) or _queues(view), _slowest(view)))


def _wait(view: View) -> str | None:
    share = value_of(view, "wait_pct")
    if share is None:
        return None
    text = f"The host waits for data for {percent_text(share)} of its time"
    rows = rows_of(view, "waits")
    waits = rows["wait_us"].drop_nulls() if rows.height else pl.Series(dtype=pl.Float64)
    mean = waits.mean()
    if isinstance(mean, float):
        text += f": {duration_text(mean)} on average in {counted(len(waits), 'step')}"
    return f"{text}. A device may work meanwhile."


def _queues(view: View) -> str | None:
    for name in _QUEUES:
        share = value_of(view, f"{name}_queue_empty_pct")
        if share is not None:
            return f"The {name} queue is empty for {percent_text(share)} of the batches."
    waited = value_of(view, "steps_waited")
    return None if waited is None else f"{counted(waited, 'step')} waited for data."


def _slowest(view: View) -> str | None:
    for table, key in _OF_STAGES:
        rows = rows_of(view, table)
        slow = rows.filter(pl.col("bottleneck").fill_null(value=False)) if rows.height else rows
        if slow.height:
            return f"The slowest stage of loading is {slow[key][0]}."
    return None
