"""A recording cut as a selection asks for, and how that was done.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.analysis.steps.iterations.cut_by import CutBy, cut_by
from torch_tb_profiler.analysis.steps.iterations.key_node import cuts, instances, key_node_names
from torch_tb_profiler.analysis.steps.iterations.key_nodes import best_key_node
from torch_tb_profiler.analysis.steps.iterations.recut import edges_between, recut
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

MAX_ITERATIONS = 100_000
"""More instances than that are no iterations; the tables of so many could not be read either."""

MOST_KEPT = 4
"""Cuts of one trace that are kept, those used last."""


class UnknownKeyNodeError(SelectionError):
    """Nothing in the trace has the name of the key node.

    Attributes:
        name: The name that was asked for.
        known: Names there are.
    """

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"iterations_by: nothing in this trace is called {name[:80]!r}")
        self.name = name
        self.known = known


@dataclass(frozen=True, slots=True)
class Cut:
    """How a trace was cut.

    Attributes:
        by: What cut it.
        calls: Instances of the key node; None where the recording's own steps were kept.
        reason: Why it was chosen, where it was chosen here; else None.
    """

    by: CutBy
    calls: int | None = None
    reason: str | None = None


@dataclass(slots=True, eq=False)
class _Cuts:
    """The cuts of one trace that are kept, the one used last at the end."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    by_text: dict[str, _Kept] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """A cut with what it holds of its own, so that it counts in the memory of the trace."""

    trace: Trace
    own: tuple[object, ...]


@per_trace
def _cuts(_trace: Trace) -> _Cuts:
    return _Cuts()


@per_split
def cut_of(_trace: Trace) -> Cut:
    """How ``trace`` was cut: by its own steps, unless it comes from :func:`cut`."""
    return Cut(CutBy("steps"))


def cut(trace: Trace, iterations_by: str | None) -> Trace:
    """``trace`` with the iterations that ``iterations_by`` asks for as its steps; kept with it.

    Raises:
        UnknownKeyNodeError: nothing has the name of the key node.
        SelectionError: the text is malformed, or the key node is called too often.
    """
    by = cut_by(iterations_by)
    if by.kind == "steps":
        return trace
    return kept_cut(trace, iterations_by or "", lambda: _cut(trace, by))


def kept_cut(trace: Trace, text: str, make: Callable[[], Trace]) -> Trace:
    """The cut of ``trace`` that is kept under ``text``, which ``make`` makes where it is not."""
    kept = _cuts(trace)
    with kept.lock:
        found = kept.by_text.pop(text, None)
        if found is None:
            made = make()
            step = made.slices["step"]
            own = () if made is trace else (made.steps, step, made.derived)
            found = _Kept(made, own)
        kept.by_text[text] = found
        while len(kept.by_text) > MOST_KEPT:
            del kept.by_text[next(iter(kept.by_text))]
    return found.trace


def _cut(trace: Trace, by: CutBy) -> Trace:
    reason = None
    if by.kind == "auto":
        if trace.steps["slice"].is_not_null().any():
            return trace
        name, reason = best_key_node(trace)
        if name is None:
            return cut_at(trace, np.empty(0, np.int64), Cut(by, 0, reason))
        by = CutBy("name", name)
    nodes = instances(trace, by.name)
    if not len(nodes.slice):
        raise UnknownKeyNodeError(by.name, key_node_names(trace))
    times = cuts(nodes.start_ns if by.kind == "start" else nodes.end_ns, nodes.process)
    check_calls(by, len(times))
    return cut_at(trace, times, Cut(by, len(nodes.slice), reason))


def check_calls(by: CutBy, times: int) -> None:
    """Refuse a key node that cuts so often.

    Raises:
        SelectionError: it does.
    """
    if times >= MAX_ITERATIONS:
        raise SelectionError(
            f"iterations_by: {by.name[:80]!r} would cut {times} times; what is called more than "
            f"{MAX_ITERATIONS} times is no iteration. Choose what runs once per step (table "
            "key_nodes of the view iterations)"
        )


def cut_at(trace: Trace, times_ns: Int64, how: Cut, *, of_ranks: bool = False) -> Trace:
    """``trace`` cut at moments (ascending, trace time), which were found as ``how`` says, maybe on
    several ranks."""
    made = recut(trace, edges_between(trace, times_ns, of_ranks=of_ranks))
    cut_of.provide(made, how)
    return made
