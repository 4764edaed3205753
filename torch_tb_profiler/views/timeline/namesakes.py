"""How long all slices of one name and category took, and where one of them stands among them."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds

BINS = 40
DECADES = 10
"""Durations whose largest is more than so many times the smallest get bins of equal ratio."""


class Namesakes(Struct, frozen=True):
    """Durations of the slices that share name and category with one of them, over the whole trace.

    A quantile is the smallest duration that at least that share of them does not exceed.

    Attributes:
        count: How many there are, this one included.
        dur_us: Of this one.
        total_us: Of all together.
        mean_us: Their mean.
        median_us: Half of them take no longer.
        p95_us: 19 of 20 take no longer.
        min_us: The shortest.
        max_us: The longest.
        shorter: How many are shorter than this one.
        longer: How many are longer.
        is_log: Whether the bins have equal ratios instead of equal widths.
        edges_us: Edges of the bins, one more than there are; each bin without its end but the last.
        counts: Slices per bin.
        own_bin: The bin of this one.
    """

    count: int
    dur_us: float
    total_us: float
    mean_us: float
    median_us: float
    p95_us: float
    min_us: float
    max_us: float
    shorter: int
    longer: int
    is_log: bool
    edges_us: list[float]
    counts: list[int]
    own_bin: int


def namesakes(trace: Trace, slice_id: int) -> Namesakes:
    """The distribution of one slice's namesakes; ``slice_id`` exists."""
    slices = trace.slices
    name, category = slices["name_code"].to_numpy(), slices["category"].to_numpy()
    same = np.flatnonzero(name == name[slice_id])
    same = same[category[same] == category[slice_id]]
    dur_ns = np.sort(slices["dur_ns"].to_numpy()[same])
    own_ns = int(slices["dur_ns"][slice_id])
    shorter = int(np.searchsorted(dur_ns, own_ns))
    edges_ns, is_log = _edges(dur_ns)
    bin_of = np.clip(np.searchsorted(edges_ns, dur_ns, "right") - 1, 0, len(edges_ns) - 2)
    counts = np.bincount(bin_of, minlength=len(edges_ns) - 1)
    return Namesakes(
        count=len(dur_ns),
        dur_us=exact_microseconds(own_ns),
        total_us=exact_microseconds(int(dur_ns.sum())),
        mean_us=float(dur_ns.mean()) / 1000,
        median_us=_quantile_us(dur_ns, 0.5),
        p95_us=_quantile_us(dur_ns, 0.95),
        min_us=exact_microseconds(int(dur_ns[0])),
        max_us=exact_microseconds(int(dur_ns[-1])),
        shorter=shorter,
        longer=len(dur_ns) - int(np.searchsorted(dur_ns, own_ns, "right")),
        is_log=is_log,
        edges_us=(edges_ns / 1000).tolist(),
        counts=counts.tolist(),
        own_bin=int(bin_of[shorter]),
    )


def _edges(dur_ns: Int64) -> tuple[Float64, bool]:
    """Edges of the bins of sorted durations in ns, and whether their ratios are equal.

    Slices without duration stand in the first bin, which begins at 0 then.
    """
    least, most = int(dur_ns[0]), int(dur_ns[-1])
    if least == most:
        return np.array([least, least + 1], np.float64), False
    filled = int(dur_ns[np.searchsorted(dur_ns, 1)])
    if most > DECADES * filled:
        edges = np.geomspace(filled, most, BINS + 1)
        edges[-1] = most
        edges[0] = min(filled, least)
        return edges, True
    if most - least < BINS:  # no bin is narrower than a nanosecond
        return np.arange(least, most + 2, dtype=np.float64), False
    return np.linspace(least, most, BINS + 1), False


def _quantile_us(dur_ns: Int64, share: float) -> float:
    return exact_microseconds(int(dur_ns[max(0, math.ceil(share * len(dur_ns)) - 1)]))
