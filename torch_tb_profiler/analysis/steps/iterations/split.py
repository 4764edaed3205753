"""A recording split into iterations as a selection asks for, and how that was done.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.analysis.steps.iterations.candidate_calls import MOST_CALLS
from torch_tb_profiler.analysis.steps.iterations.key_node import (
    InstancesOf,
    boundaries_ns,
    instances,
    key_node_names,
)
from torch_tb_profiler.analysis.steps.iterations.key_nodes import best_key_node, clear_key_node
from torch_tb_profiler.analysis.steps.iterations.resplit import edges_between, with_steps_between
from torch_tb_profiler.analysis.steps.iterations.split_by import SplitBy, parse_split_by
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

MAX_CACHED = 4
"""Splits of one trace that are cached, the most recently used."""


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


class IterationSplit(Struct, frozen=True):
    """How a trace was split into iterations.

    Attributes:
        by: What split it.
        calls: Instances of the key node; None where the steps of the recording remain.
        reason: Why it was chosen, where it was chosen here; else None.
        is_default: Whether nobody asked for it: the recording has no steps, and it is clear.
    """

    by: SplitBy
    calls: int | None = None
    reason: str | None = None
    is_default: bool = False


class _Splits(Struct, eq=False):
    """The cached splits of one trace, the last used last; computing one may need another."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    by_text: dict[str, _CachedSplit] = field(default_factory=dict)


class _CachedSplit(Struct, frozen=True, eq=False):
    """A split with what it holds of its own, so that it counts in the memory of the trace."""

    trace: Trace
    own: tuple[object, ...]


@per_trace
def _splits(_trace: Trace) -> _Splits:
    return _Splits()


@per_split
def split_of(_trace: Trace) -> IterationSplit:
    """How ``trace`` was split: by its own steps, unless it comes from :func:`split_at`."""
    return IterationSplit(SplitBy("steps"))


def split_iterations(
    trace: Trace, iterations_by: str | None, instances_of: InstancesOf = instances
) -> Trace:
    """``trace`` with the iterations that ``iterations_by`` asks for as its steps; cached with it.
    ``instances_of`` resolves the text of a key node.

    Raises:
        UnknownKeyNodeError: nothing has the name of the key node.
        SelectionError: the text is malformed, or the key node is called too often.
    """
    by = parse_split_by(iterations_by)
    if by.kind == "steps" or (by.kind == "default" and has_recorded_steps(trace)):
        return trace
    return cached_split(trace, iterations_by or "", lambda: _split(trace, by, instances_of))


def cached_split(trace: Trace, text: str, make: Callable[[], Trace]) -> Trace:
    """The split of ``trace`` cached under ``text``; ``make`` computes it where there is none."""
    cache = _splits(trace)
    with cache.lock:
        entry = cache.by_text.pop(text, None)
        if entry is None:
            split = make()
            step = split.slices["step"]
            own = () if split is trace else (split.steps, step, split.derived)
            entry = _CachedSplit(split, own)
        cache.by_text[text] = entry
        while len(cache.by_text) > MAX_CACHED:
            del cache.by_text[next(iter(cache.by_text))]
    return entry.trace


def _split(trace: Trace, by: SplitBy, instances_of: InstancesOf) -> Trace:
    reason, is_default = None, by.kind == "default"
    if by.kind in ("auto", "default"):
        if has_recorded_steps(trace):
            return trace
        name, reason = (clear_key_node if is_default else best_key_node)(trace)
        if name is None and is_default:
            return trace
        if name is None:
            return split_at(trace, np.empty(0, np.int64), IterationSplit(by, 0, reason))
        by = SplitBy("name", name)
    nodes = instances_of(trace, by.name)
    if not len(nodes.slice):
        raise UnknownKeyNodeError(by.name, key_node_names(trace))
    times = boundaries_ns(nodes.start_ns if by.kind == "start" else nodes.end_ns, nodes.process)
    check_calls(by, len(times))
    return split_at(trace, times, IterationSplit(by, len(nodes.slice), reason, is_default))


def has_recorded_steps(trace: Trace) -> bool:
    """Whether the recording itself names steps."""
    return bool(trace.steps["slice"].is_not_null().any())


def check_calls(by: SplitBy, times: int) -> None:
    """Refuse a key node with too many calls.

    Raises:
        SelectionError: it does.
    """
    if times >= MOST_CALLS:
        raise SelectionError(
            f"iterations_by: {by.name[:80]!r} would cut {times} times; what is called "
            f"{MOST_CALLS} times or more is no iteration. Choose what runs once per step (table "
            "key_nodes of the view iterations)"
        )


def split_at(
    trace: Trace, times_ns: Int64, how: IterationSplit, *, of_ranks: bool = False
) -> Trace:
    """``trace`` split at moments (ascending, trace time), detected as ``how`` says, maybe on
    several ranks."""
    split = with_steps_between(trace, edges_between(trace, times_ns, of_ranks=of_ranks))
    split_of.provide(split, how)
    return split
