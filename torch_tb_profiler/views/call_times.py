"""The columns that tables of summed calls share: total, mean, longest, shortest, and the share.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.operators.summaries.calls import FIGURES, SIDES
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.schema import Column
from torch_tb_profiler.views.shares import of_whole

STEP_TIME = "the steps' time on the host"
DEVICE_TIME = "the summed duration of all device work of the steps"
NO_WHOLE = "The total is 0."
_NAMES = {"cpu": "CPU", "gpu": "GPU"}
_TIME = {
    "cpu": "on the host; a call nested in another call of the same row counts once",
    "gpu": "of the kernels, copies and memsets launched inside; work that overlaps adds up",
}
_OF_ONE = {"mean": "Mean", "max": "Longest", "min": "Shortest"}


def call_columns(cpu_whole: str, gpu_whole: str = DEVICE_TIME) -> tuple[Column, ...]:
    """``cpu_total_us`` … ``cpu_pct`` and ``gpu_total_us`` … ``gpu_pct``.

    Args:
        cpu_whole: What the shares of the host are of, ``"the time of the steps"``.
        gpu_whole: What those of the device are of.
    """
    return (*side_columns("cpu", cpu_whole), *side_columns("gpu", gpu_whole))


def side_columns(side: str, whole: str) -> tuple[Column, ...]:
    """The five columns of one side, ``"cpu"`` or ``"gpu"``; ``whole`` is what its shares are of."""
    name = _NAMES[side]
    of_one = tuple(
        Column(
            f"{side}_{figure}_us",
            f"{name} {figure.capitalize()}",
            "number",
            "us",
            f"{word} call, without calls nested in another call of the same row.",
            family=side,
        )
        for figure, word in _OF_ONE.items()
    )
    return (
        Column(
            f"{side}_total_us",
            f"{name} Total",
            "number",
            "us",
            f"Summed time {_TIME[side]}.",
            family=side,
        ),
        *of_one,
        Column(f"{side}_pct", f"{name} Share", "number", "pct", f"Total as share of {whole}."),
    )


def with_times(groups: pl.DataFrame, cpu_whole_ns: int, gpu_whole_ns: int) -> pl.DataFrame:
    """``groups``, which have the columns of ``operators.summaries.calls.summed``, with those of
    :func:`call_columns`; shares are of the two wholes."""
    wholes = dict(zip(SIDES, (cpu_whole_ns, gpu_whole_ns), strict=True))
    return groups.with_columns(
        *(
            microseconds(groups[f"{side}_{figure}_ns"]).alias(f"{side}_{figure}_us")
            for side in SIDES
            for figure in FIGURES
        ),
        *(
            of_whole(groups[f"{side}_total_ns"], whole).alias(f"{side}_pct")
            for side, whole in wholes.items()
        ),
    )


def side_keys(side: str) -> tuple[str, ...]:
    """The keys of :func:`side_columns`."""
    return (*(f"{side}_{figure}_us" for figure in FIGURES), f"{side}_pct")


def time_reasons(trace: Trace) -> dict[str, str]:
    """Why columns of :func:`call_columns` are null."""
    no_gpu = no_device_time(trace)
    gpu = {} if no_gpu is None else dict.fromkeys(side_keys("gpu"), no_gpu)
    return {"cpu_pct": NO_WHOLE, "gpu_pct": NO_WHOLE, **gpu}
