"""Facts on the time of copies per GPU, and notes on small and pageable copies."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, subtract, total, union
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.kernels.copy_bandwidth import pinned_rates, pinned_savings
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, exact_microseconds
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Fact, Note

SMALL_BYTES = 64 << 10
SMALL_COPIES = 100
"""Minimum number of copies below :data:`SMALL_BYTES` for a note."""
WORTH_PCT = 1.0
"""Minimum share of the time of all copies for a note."""


def copy_facts(trace: Trace, copies: pl.DataFrame) -> tuple[Fact, ...]:
    """Per GPU how long it copied, and how long of that it ran no kernel."""
    facts: list[Fact] = []
    for gpu, copied in _copied(copies).items():
        profile = gpu_profiles(trace).get(gpu)
        alone = copied if profile is None else subtract(copied, profile.busy)
        scope = f"GPU {gpu}" if gpu >= 0 else "GPU"
        facts += [
            Fact(
                "copying_us",
                "Copying",
                exact_microseconds(total(copied)),
                "us",
                scope,
                "Time in which the GPU runs at least one of the selected copies.",
            ),
            Fact(
                "exposed_us",
                "Exposed Copying",
                exact_microseconds(total(alone)),
                "us",
                scope,
                "Part of that time in which the GPU runs no kernel: what overlapping the copies "
                "with kernels could save.",
            ),
        ]
    return tuple(facts)


def _copied(copies: pl.DataFrame) -> dict[int, Intervals]:
    device, start = indices(copies["device"]), copies["start_ns"].to_numpy()
    end = start + copies["dur_ns"].to_numpy()
    return {
        number: union(start[device == number], end[device == number])
        for number in distinct_values(device).tolist()
    }


def copy_notes(trace: Trace, copies: pl.DataFrame) -> tuple[Note, ...]:
    """What small and pageable copies of the selection cost."""
    return (*_pageable(trace, copies), *_small(copies))


def _pageable(trace: Trace, copies: pl.DataFrame) -> tuple[Note, ...]:
    pageable = copies.filter(pl.col("host_memory") == "pageable")
    saved = pinned_savings(trace, pageable)
    known = ~np.isnan(saved)
    saved_us = float(saved[known].sum()) / NS_PER_US
    time_us = int(copies["dur_ns"].sum()) / NS_PER_US
    if not known.any() or saved_us < WORTH_PCT / 100 * time_us:
        return ()
    keys = set(pageable.filter(pl.Series(known)).select("kind", "device").iter_rows())
    measured = all(pinned_rates(trace)[key].is_measured for key in keys)
    pace = (
        "the rate of large pinned copies in this recording" if measured else "the limit of the link"
    )
    host_us = int(pageable["call_ns"].sum()) / NS_PER_US
    text = (
        f"{pageable.height:,} of {copies.height:,} copies are from or to pageable memory: they "
        f"take {duration_text(_time_us(pageable))} on the device and block the host for "
        f"{duration_text(host_us)}. At {pace} they would take "
        f"{'' if measured else 'at most '}{duration_text(saved_us)} less (estimated). Pin the "
        "memory (pin_memory=True in the DataLoader) and copy with non_blocking=True."
    )
    evidence: dict[str, object] = {
        "copies": pageable.height,
        "total_us": _time_us(pageable),
        "host_us": host_us,
        "saved_us": saved_us,
        "columns": ["host_memory", "pinned_saving_us"],
    }
    return (Note("advice", "copies_pageable", "info", text, evidence),)


def _small(copies: pl.DataFrame) -> tuple[Note, ...]:
    small = copies.filter(pl.col("bytes") < SMALL_BYTES)
    time_us = _time_us(copies)
    if small.height < SMALL_COPIES or _time_us(small) < WORTH_PCT / 100 * time_us:
        return ()
    size, whole = int(small["bytes"].sum()), int(copies["bytes"].sum())
    text = (
        f"{small.height:,} of {copies.height:,} copies are smaller than 64 KiB: they move "
        f"{100 * size / whole if whole else 0:.1f} % of the bytes in "
        f"{100 * _time_us(small) / time_us if time_us else 0:.0f} % of the time, "
        f"{duration_text(_time_us(small) / small.height)} each. Combine several tensors into one "
        "copy, or keep them on the device."
    )
    evidence: dict[str, object] = {
        "copies": small.height,
        "total_bytes": size,
        "total_us": _time_us(small),
        "columns": ["from_bytes"],
    }
    return (Note("advice", "copies_small", "info", text, evidence),)


def _time_us(copies: pl.DataFrame) -> float:
    return exact_microseconds(int(copies["dur_ns"].sum()))
