"""A walk over the raw events of a recording: what DLProf's reports say of it, counted by hand.

It shares no code with what it judges: dicts, lists, one call at a time. Definitions:
``docs/metrics.md#operator-times``, ``#operator-types``, ``#operator-identity``, ``#resources``,
``docs/views-groups.md``. Times are whole ns as in the file. What names of operators and kernels
mean is data (``knowledge/``) and asked there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

from tests.views import reference
from tests.views.reference import Node, ns
from torch_tb_profiler.knowledge.kernels import classify
from torch_tb_profiler.knowledge.operator_types import operator_type

Event = dict[str, Any]
Span = tuple[int, int]


class Figures(NamedTuple):
    """Total, mean, smallest and largest."""

    total: float
    mean: float
    least: float
    most: float


class Times(NamedTuple):
    """The sixteen times of a row, and how many calls it has."""

    calls: int
    cpu: Figures
    gpu: Figures
    overhead: Figures
    idle: Figures


def union(spans: Iterable[Span]) -> list[Span]:
    """Disjoint spans, in order, that cover the same."""
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def length(spans: Iterable[Span]) -> int:
    """What spans cover."""
    return sum(end - start for start, end in union(spans))


def clipped(spans: list[Span], start: int, end: int) -> list[Span]:
    """What disjoint spans in order cover of one."""
    first = max(bisect_right(spans, (start, start)) - 1, 0)
    found = []
    for each in spans[first:]:
        if each[0] >= end:
            break
        if each[1] > start:
            found.append((max(each[0], start), min(each[1], end)))
    return found


def span_of(event: Event) -> Span:
    """Start and end."""
    start = ns(event["ts"])
    return start, start + ns(event["dur"])


def is_kernel(piece: Event) -> bool:
    """Whether device work is a kernel, neither copy nor set."""
    return str(piece["cat"]).lower() == "kernel"


def uses_tensor_cores(name: str) -> bool:
    """Whether a kernel is known to."""
    return bool(classify(name).tensor_core)


class Walk:
    """What the events of one process tell."""

    def __init__(self, events: list[Event]) -> None:
        self.slices = [event for event in events if event.get("ph") == "X"]
        self.read = reference.read(events)
        calls: dict[tuple[str, str], list[Span]] = defaultdict(list)
        self.launch_of: dict[int, Event] = {}
        for event in filter(reference.is_call, self.slices):
            calls[str(event["pid"]), str(event["tid"])].append(span_of(event))
            correlation = event.get("args", {}).get("correlation")
            if correlation is not None:
                self.launch_of[correlation] = event
        self.runtime = {thread: union(spans) for thread, spans in calls.items()}
        self.known = {id(node) for node in self.read.operators}

    @property
    def has_links(self) -> bool:
        """Whether any device work tells what launched it."""
        return any(p["args"].get("correlation") in self.launch_of for p in self.read.device)

    def around(self, node: Node) -> Iterable[Node]:
        """The operators around one, the innermost first."""
        above = node.parent
        while above is not None:
            if id(above) in self.known:
                yield above
            above = above.parent

    def work(self, node: Node) -> list[Event]:
        """Device work launched inside."""
        return [piece for inner in node.subtree() for piece in inner.work]

    def overhead(self, node: Node) -> int:
        """Time outside calls of a device's interface."""
        calls = clipped(self.runtime.get(node.thread, []), node.start, node.end)
        return node.dur - length(calls)

    def times(
        self, key: Callable[[Node], Hashable], *, flattened: bool = False
    ) -> dict[Hashable, Times]:
        """The times of operators by ``key``, of calls in no other call of their row; device work
        that overlaps inside a call once where they are ``flattened``."""
        calls: dict[Hashable, int] = defaultdict(int)
        rows: dict[Hashable, list[tuple[int, int, int, int]]] = defaultdict(list)
        for node in self.read.operators:
            calls[key(node)] += 1
            if any(key(other) == key(node) for other in self.around(node)):
                continue
            spans = [span_of(piece) for piece in self.work(node)]
            busy = length(spans)
            gpu = busy if flattened else sum(end - start for start, end in spans)
            whole = max(e for _, e in spans) - min(s for s, _ in spans) if spans else 0
            rows[key(node)].append((node.dur, gpu, self.overhead(node), whole - busy))
        return {
            group: Times(
                calls[group], *(_figures([row[at] for row in of_group]) for at in range(4))
            )
            for group, of_group in rows.items()
        }

    def by_type(self) -> dict[Hashable, Times]:
        """By type of operator; None for names that no rule knows."""
        types = {node.name: operator_type(node.name) for node in self.read.operators}
        return self.times(lambda node: types[node.name], flattened=True)

    def kernel_calls(self) -> list[tuple[Any, ...]]:
        """Every kernel, copy and set: name, operator that launched it, start and duration, start
        and duration of its host call."""
        rows = []
        for piece in self.read.device:
            owner, launch = piece["owner"], self.launch_of.get(piece["args"].get("correlation"))
            while owner is not None and id(owner) not in self.known:
                owner = owner.parent
            host = (None, None) if launch is None else (ns(launch["ts"]), ns(launch["dur"]))
            name = None if owner is None else owner.name
            rows.append((piece["name"], name, ns(piece["ts"]), ns(piece["dur"]), *host))
        return rows

    def kernel_classes(self) -> dict[str, tuple[int, float, int, int]]:
        """Class → time on devices, of their host calls (what one call launched shares it), how
        many, and of how many names."""
        classes = ("all", "using_tensor_cores", "memory", "other")
        sums: dict[str, list[float]] = {name: [0, 0, 0] for name in classes}
        names: dict[str, set[str]] = {name: set() for name in classes}
        sharing = Counter(piece["args"].get("correlation") for piece in self.read.device)
        for piece in self.read.device:
            kind = "other" if is_kernel(piece) else "memory"
            if kind == "other" and uses_tensor_cores(piece["name"]):
                kind = "using_tensor_cores"
            correlation = piece["args"].get("correlation")
            launch = self.launch_of.get(correlation)
            api = 0 if launch is None else ns(launch["dur"]) / sharing[correlation]
            for each in ("all", kind):
                names[each].add(piece["name"])
            for row in (sums["all"], sums[kind]):
                row[0] += ns(piece["dur"])
                row[1] += api
                row[2] += 1
        return {
            name: (int(time), api, int(count), len(names[name]))
            for name, (time, api, count) in sums.items()
        }

    def resources(self, start: int, end: int) -> dict[str, int]:
        """Whose each moment of ``[start, end)`` was, of a recording with one GPU."""
        kernels = [piece for piece in self.read.device if is_kernel(piece)]
        layers = {
            "tensor_core": [span_of(p) for p in kernels if uses_tensor_cores(p["name"])],
            "other_kernels": [span_of(p) for p in kernels if not uses_tensor_cores(p["name"])],
            "memory": [span_of(p) for p in self.read.device if not is_kernel(p)],
            "cpu": [(n.start, n.end) for n in self.read.nodes if "ProfilerStep#" not in n.name]
            + [span for spans in self.runtime.values() for span in spans],
        }
        found: dict[str, int] = {}
        taken: list[Span] = []
        before = 0
        for name, spans in layers.items():
            taken = union([*taken, *spans])
            covered = length(clipped(taken, start, end))
            found[name], before = covered - before, covered
        return {**found, "other": end - start - before}


def _figures(values: list[int]) -> Figures:
    return Figures(sum(values), sum(values) / len(values), min(values), max(values))
