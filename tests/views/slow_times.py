"""What each call of an operator costs, one moment at a time; it shares no code with the package."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from tests.helpers.traces import Event
from tests.views import reference
from tests.views.random_traces import Recording
from tests.views.selected import Inside
from torch_tb_profiler.trace.model import Trace


def moments(pieces: list[tuple[int, int]]) -> set[int]:
    return {moment for start, dur in pieces for moment in range(start, start + dur)}


class SlowTimes:
    """The times of each call of a recording."""

    def __init__(self, recorded: Trace, recording: Recording) -> None:
        self.read = reference.read(recording.events)
        inside = Inside(recorded, recording.selection, recording.events)
        self.is_called: Callable[[int], bool] = inside.host
        self.is_work: Callable[[Event], bool] = inside.piece
        self.runtime: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for event in filter(reference.is_call, recording.events):
            span = reference.ns(event["ts"]), reference.ns(event["dur"])
            self.runtime[str(event["tid"])].append(span)

    def work(self, node: reference.Node) -> list[Event]:
        pieces = (piece for inner in node.subtree() for piece in inner.work)
        return [piece for piece in pieces if self.is_work(piece)]

    def gpu(self, node: reference.Node) -> int:
        return sum(reference.ns(piece["dur"]) for piece in self.work(node))

    def busy(self, node: reference.Node) -> int:
        spans = [(reference.ns(p["ts"]), reference.ns(p["dur"])) for p in self.work(node)]
        return len(moments(spans))

    def idle(self, node: reference.Node) -> int:
        spans = [(reference.ns(p["ts"]), reference.ns(p["dur"])) for p in self.work(node)]
        if not spans:
            return 0
        whole = max(start + dur for start, dur in spans) - min(start for start, _ in spans)
        return whole - len(moments(spans))

    def kernels(self, node: reference.Node) -> int:
        return sum(piece["cat"] == "kernel" for piece in self.work(node))

    def overhead(self, node: reference.Node) -> int:
        busy = moments(self.runtime[node.thread[1]])
        return len(set(range(node.start, node.end)) - busy)

    def shown(self) -> list[reference.Node]:
        return [
            node for node in self.read.operators if self.is_called(node.start) or self.gpu(node)
        ]


def is_inside(node: reference.Node, group: list[reference.Node]) -> bool:
    """Whether a node lies in another one of a group."""
    line = []
    above = node.parent
    while above is not None:
        line.append(above)
        above = above.parent
    return any(other is each for other in group for each in line)
