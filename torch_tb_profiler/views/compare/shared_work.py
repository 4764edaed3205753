"""How much of what ran is on both sides of a comparison."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.calls import kernel_calls
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

Times = dict[str, int]


def shared_work(baseline: Trace, candidate: Trace) -> tuple[float, float] | None:
    """Share of the time of each side in what both have by name: operators or kernels, whichever
    is larger. None where a side has neither."""
    shares = [
        shared
        for times in (_operators, _kernels)
        if (shared := _shared(times(baseline), times(candidate))) is not None
    ]
    return max(shares, key=min, default=None)


def _shared(a: Times, b: Times) -> tuple[float, float] | None:
    both = a.keys() & b.keys()
    whole = sum(a.values()), sum(b.values())
    if not all(whole):
        return None
    return sum(a[name] for name in both) / whole[0], sum(b[name] for name in both) / whole[1]


@per_trace
def _operators(trace: Trace) -> Times:
    """Host time by name of operator, of each without what is inside."""
    return _times(trace, operator_calls(trace), "host_self_ns")


@per_trace
def _kernels(trace: Trace) -> Times:
    return _times(trace, kernel_calls(trace), "dur_ns")


def _times(trace: Trace, calls: pl.DataFrame, key: str) -> Times:
    sums = calls.group_by("name_code").agg(pl.col(key).sum())
    names = codes.texts(trace, sums["name_code"]).to_list()
    return dict(zip(names, sums[key].to_list(), strict=True))
