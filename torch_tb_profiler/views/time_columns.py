"""The columns of the four times of calls, each by total, mean, smallest and largest.

Definitions: ``docs/metrics.md#operator-times``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.operators.times import MEASURES, STATISTICS
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column

_TITLES = {
    "cpu": "CPU",
    "gpu": "GPU",
    "cpu_overhead": "CPU Overhead",
    "gpu_idle": "GPU Idle",
}
_TEXTS = {
    "cpu": "Time on the host from start to end",
    "gpu": "Duration of the kernels, copies and memsets launched inside",
    "cpu_overhead": "Host time in which no device API call ran on its thread",
    "gpu_idle": "Idle time between the first start and the last end of the device work launched "
    "inside",
}
_OF = {
    "mean": ("Mean", "mean over"),
    "min": ("Min", "smallest of"),
    "max": ("Max", "largest of"),
}


def time_key(measure: str, statistic: str) -> str:
    """``cpu_overhead_mean_us``."""
    return f"{measure}_{statistic}_us"


def time_keys(measure: str) -> tuple[str, ...]:
    """The four keys of a measure."""
    return tuple(time_key(measure, statistic) for statistic in STATISTICS)


def time_columns(
    measure: str, total: str, calls: str, *, hide_total: bool = False, with_total: bool = True
) -> tuple[Column, ...]:
    """The columns of one measure.

    Args:
        measure: One of ``MEASURES``.
        total: How the total of a row is made, ``"summed over its outermost calls"``.
        calls: What the other three are of, ``"its outermost calls"``.
        hide_total: Whether the total is hidden by default, like the others.
        with_total: False if the table has the total under another key.
    """
    title, text = _TITLES[measure], _TEXTS[measure]
    figures = tuple(
        Column(
            time_key(measure, statistic),
            f"{title} {name}",
            "number",
            "us",
            f"{text}: {words} {calls}.",
            family="call",
            hidden=True,
        )
        for statistic, (name, words) in _OF.items()
    )
    if not with_total:
        return figures
    whole = Column(
        time_key(measure, "total"),
        f"{title} Total",
        "number",
        "us",
        f"{text}, {total}.",
        family="total",
        hidden=hide_total,
    )
    return (whole, *figures)


def times_in_microseconds(groups: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns of all measures by key, from those of ``times_by_group`` in ns."""
    names = {
        f"{measure}_{statistic}": time_key(measure, statistic)
        for measure in MEASURES
        for statistic in STATISTICS
    }
    ns = groups.select(pl.col(name).cast(pl.Float64) for name in names).to_numpy()
    # Divided once and truly, as by ``microseconds``; absent values are NaN meanwhile.
    frame = pl.DataFrame(ns / NS_PER_US, schema=list(names.values()), orient="row")
    return {column.name: column for column in frame.fill_nan(None)}
