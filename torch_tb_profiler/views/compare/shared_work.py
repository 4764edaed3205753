"""How much of what ran is on both sides of a comparison: by name, and with pairs of names."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.calls import kernel_calls
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.renames import Pairs, Renames, baseline_names

Times = dict[str, int]


class SharedWork(Struct, frozen=True):
    """What both sides run, of one kind.

    Attributes:
        kind: ``operators`` or ``kernels``.
        by_name: Share of the time of the baseline, and of the candidate, in what both have by name.
        with_pairs: The same, of what is only renamed too.
    """

    kind: str
    by_name: tuple[float, float]
    with_pairs: tuple[float, float]

    def text(self, side: int) -> str:
        """``kernels 3 % by name, 97 % with pairs`` of the baseline (0) or the candidate (1)."""
        names, pairs = f"{100 * self.by_name[side]:.0f} %", f"{100 * self.with_pairs[side]:.0f} %"
        text = f"{self.kind} {names}"
        return text if names == pairs else f"{text} by name, {pairs} with pairs"


def shared_work(baseline: Trace, candidate: Trace, renames: Renames) -> tuple[SharedWork, ...]:
    """What both sides run, of each kind that both have."""
    kinds = (("operators", _operators, renames.operators), ("kernels", _kernels, renames.kernels))
    shared = (_shared(kind, times(baseline), times(candidate), p) for kind, times, p in kinds)
    return tuple(each for each in shared if each is not None)


def _shared(kind: str, a: Times, b: Times, pairs: Pairs) -> SharedWork | None:
    if not all((sum(a.values()), sum(b.values()))):
        return None
    known = baseline_names(pairs)
    renamed: Times = {}
    for name, time in b.items():
        own = known.get(name, name)
        renamed[own] = renamed.get(own, 0) + time
    return SharedWork(kind, _shares(a, b), _shares(a, renamed))


def _shares(a: Times, b: Times) -> tuple[float, float]:
    both = a.keys() & b.keys()
    whole = sum(a.values()), sum(b.values())
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
