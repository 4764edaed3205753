"""Modules by hand: where operators lie in them, and what each module took.

Of recordings with one iteration on one thread, and without a backward pass.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tests.reference.walk import Event, Span, Walk, clipped, length, span_of, union
from tests.views.reference import Node

PREFIX = "nn.Module: "


@dataclass(eq=False)
class TraceRoot:
    """A module, or an operator, in the tree of what is around it."""

    name: str
    span: Span
    node: Node | None
    parent: TraceRoot | None = None
    children: list[TraceRoot] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Names from the outside in; the second of a name inside one parent has ``(2)``."""
        if self.parent is None:
            return f"/{self.name}"
        same = [each for each in self.parent.children if each.name == self.name]
        place = next(at for at, each in enumerate(same) if each is self)
        return f"{self.parent.path}/{self.name}" + (f"({place + 1})" if place else "")


@dataclass
class ModuleTimes:
    """What the calls of a module at its place took, moments of several once; in ns."""

    calls: int
    cpu: int
    gpu: int
    overhead: int
    idle: int


class Modules:
    """The modules of a recording, around its operators."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.frames = [
            event
            for event in walk.slices
            if event["cat"] == "python_function"
            and event.get("args", {}).get("Python module id") is not None
        ]
        self.places: dict[int, TraceRoot] = {}
        threads: dict[tuple[str, str], list[TraceRoot]] = defaultdict(list)
        for event in self.frames:
            thread = str(event["pid"]), str(event["tid"])
            name = event["name"].removeprefix(PREFIX)
            threads[thread].append(TraceRoot(name, span_of(event), None))
        for node in walk.read.operators:
            place = TraceRoot(node.name, (node.start, node.end), node)
            self.places[id(node)] = place
            threads[node.thread].append(place)
        for places in threads.values():
            _nest(places)
        self.all = [place for places in threads.values() for place in places]

    def path(self, node: Node) -> str:
        """The path of an operator."""
        return self.places[id(node)].path

    def times(self) -> dict[str, ModuleTimes]:
        """By path of modules alone, without the slash before."""
        work: dict[int, list[Event]] = defaultdict(list)
        for node in self.walk.read.operators:
            at: TraceRoot | None = self.places[id(node)]
            while at is not None:
                work[id(at)] += node.work
                at = at.parent
        calls: dict[str, list[TraceRoot]] = defaultdict(list)
        for place in self.all:
            if place.node is None:
                calls[_module_path(place)].append(place)
        return {path: self._of(group, work) for path, group in calls.items()}

    def _of(self, group: list[TraceRoot], work: dict[int, list[Event]]) -> ModuleTimes:
        ranges = union(place.span for place in group)
        [thread] = {(str(e["pid"]), str(e["tid"])) for e in self.frames}
        runtime = self.walk.runtime.get(thread, [])
        inside = [part for start, end in ranges for part in clipped(runtime, start, end)]
        launched = [[span_of(piece) for piece in work[id(place)]] for place in group]
        cpu = length(ranges)
        return ModuleTimes(
            calls=len(group),
            cpu=cpu,
            gpu=length(span for spans in launched for span in spans),
            overhead=cpu - length(inside),
            idle=sum(_idle(spans) for spans in launched),
        )


def _idle(spans: list[Span]) -> int:
    if not spans:
        return 0
    return max(end for _, end in spans) - min(start for start, _ in spans) - length(spans)


def _module_path(place: TraceRoot) -> str:
    names: list[str] = []
    at: TraceRoot | None = place
    while at is not None:
        if at.node is None:
            names.append(at.name)
        at = at.parent
    return "/".join(reversed(names))


def _nest(places: list[TraceRoot]) -> None:
    places.sort(key=lambda place: (place.span[0], -place.span[1]))
    stack: list[TraceRoot] = []
    for place in places:
        while stack and place.span[0] >= stack[-1].span[1]:
            stack.pop()
        if stack:
            place.parent = stack[-1]
            stack[-1].children.append(place)
        stack.append(place)
