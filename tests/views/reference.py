"""A slow and independent reading of raw Kineto events: dicts, lists and plain sums.

It shares no code with the package. Definitions: ``docs/metrics.md#operators``,
``docs/metrics.md#kernels``: a launch belongs to the innermost operator around it on its thread
(without one, the innermost range), an absorbed double keeps its kernels. Times are whole ns.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RANGES = {"cpu_op", "operator", "user_annotation", "python"}
DEVICE = {"kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset"}


@dataclass(eq=False)
class Node:
    """A host range."""

    name: str
    start: int
    dur: int
    thread: tuple[str, str]
    in_tables: bool
    is_operator: bool
    args: dict[str, Any]
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    work: list[dict[str, Any]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.start + self.dur

    def subtree(self) -> Iterable[Node]:
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children


@dataclass
class Reading:
    """What the reference understands of a file."""

    operators: list[Node]
    device: list[dict[str, Any]]
    nodes: list[Node]
    """Operators and ranges, without doubles."""


def load(path: Path) -> list[dict[str, Any]]:
    """The events of a file."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def ns(time_us: float) -> int:
    return round(time_us * 1000)


def is_node(event: dict[str, Any]) -> bool:
    return str(event.get("cat", "")).lower() in RANGES


def is_call(event: dict[str, Any]) -> bool:
    cat = str(event.get("cat", "")).lower()
    return cat == "runtime" or cat.endswith(("_runtime", "_driver"))


def is_operator(event: dict[str, Any]) -> bool:
    """An operator event, shown in tables or not."""
    name = event["name"]
    ranges = (
        "ProfilerStep#",
        "Optimizer.step",
        "Optimizer.zero_grad",
        "enumerate(DataLoader)#",
        "enumerate(DataPipe)#",
    )
    return event["cat"].lower() in ("cpu_op", "operator") and not name.startswith(ranges)


def is_in_tables(event: dict[str, Any]) -> bool:
    name = event["name"]
    wrappers = ("DataParallel.forward", "DistributedDataParallel.forward")
    return is_operator(event) and name not in wrappers and not name.startswith("Optimizer.")


def read(events: Iterable[dict[str, Any]]) -> Reading:
    """Nest, link, absorb."""
    slices = [event for event in events if event.get("ph") == "X"]
    threads: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for event in filter(is_node, slices):
        key = (str(event["pid"]), str(event["tid"]))
        node = Node(
            event["name"],
            ns(event["ts"]),
            ns(event["dur"]),
            key,
            is_in_tables(event),
            is_operator(event) or event["cat"] == "python",
            event.get("args", {}),
        )
        threads[key].append(node)
    for nodes in threads.values():
        _nest(nodes)
    device = [event for event in slices if str(event.get("cat", "")).lower() in DEVICE]
    launched: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in device:
        event["owner"] = None
        launched[event["args"].get("correlation", -1)].append(event)
    for event in filter(is_call, slices):
        key = (str(event["pid"]), str(event["tid"]))
        position = _innermost(threads[key], ns(event["ts"]))
        owner = position
        while owner is not None and not owner.is_operator:
            owner = owner.parent
        owner = owner or position
        work = launched.get(event.get("args", {}).get("correlation", -2), [])
        for piece in work:
            piece["owner"] = owner
        if position is not None and owner is not None:
            position.calls.append(event)
            owner.work += work
    remaining = [node for nodes in threads.values() for node in _absorbed(nodes)]
    return Reading([node for node in remaining if node.in_tables], device, remaining)


def _nest(nodes: list[Node]) -> None:
    nodes.sort(key=lambda n: (n.start, -n.dur))
    stack: list[Node] = []
    for node in nodes:
        while stack and node.start >= stack[-1].end:
            stack.pop()
        if stack:
            assert node.end <= stack[-1].end, "the reference knows no crossing ranges"
            node.parent = stack[-1]
            stack[-1].children.append(node)
        stack.append(node)


def _innermost(nodes: list[Node], time: int) -> Node | None:
    """``nodes`` in order of start, longer first."""
    last = bisect_right(nodes, time, key=lambda node: node.start)
    node = nodes[last - 1] if last else None
    while node is not None and node.end <= time:
        node = node.parent
    return node


def _absorbed(nodes: list[Node]) -> list[Node]:
    """The nodes without doubles: an operator whose only child is an operator of its name takes
    that child's children, calls and work."""
    gone: set[int] = set()
    for node in nodes:
        if id(node) in gone:
            continue
        while (
            len(node.children) == 1
            and node.is_operator
            and node.children[0].is_operator
            and node.children[0].name == node.name
        ):
            [double] = node.children
            gone.add(id(double))
            node.children = double.children
            node.calls += double.calls
            for piece in double.work:
                piece["owner"] = node
            node.work += double.work
    return [node for node in nodes if id(node) not in gone]


def host_self(node: Node) -> int:
    inner = sum(child.dur for child in node.children)
    return node.dur - inner - sum(ns(call["dur"]) for call in node.calls)


def device_self(node: Node) -> int:
    return sum(ns(piece["dur"]) for piece in node.work)


def device_total(node: Node) -> int:
    return sum(device_self(inner) for inner in node.subtree())


def operator_sums(
    operators: list[Node],
    key: Callable[[Node], Any],
    is_selected: Callable[[int], bool] = lambda _: True,
    is_work_selected: Callable[[dict[str, Any]], bool] = lambda _: True,
) -> dict[Any, tuple[int, float, float, float, float]]:
    """Group → (calls, device self, device total, host self, host total), times in µs.

    Totals: the host time of calls in no other selected call of their group, and every piece of
    selected device work once per group that a call around its launch is of.
    """
    sums: dict[Any, list[int]] = defaultdict(lambda: [0] * 5)
    known = {id(node) for node in operators}

    def lines(node: Node) -> Iterable[Node]:
        at: Node | None = node
        while at is not None:
            if id(at) in known:
                yield at
            at = at.parent

    for node in operators:
        around = list(lines(node))
        if is_selected(node.start):
            row = sums[key(node)]
            row[0] += 1
            row[3] += host_self(node)
            nested = any(key(o) == key(node) and is_selected(o.start) for o in around[1:])
            row[4] += 0 if nested else node.dur
    for piece, owner in _work_inside(operators):
        if is_work_selected(piece) and ns(piece["dur"]):
            dur = ns(piece["dur"])
            if id(owner) in known:
                sums[key(owner)][1] += dur
            for group in {key(o) for o in lines(owner)}:
                sums[group][2] += dur
    return {
        group: (row[0], row[1] / 1e3, row[2] / 1e3, row[3] / 1e3, row[4] / 1e3)
        for group, row in sums.items()
    }


def _work_inside(operators: list[Node]) -> Iterable[tuple[dict[str, Any], Node]]:
    """Each piece of device work launched by or in an operator, with the node that launched it."""
    seen: set[int] = set()
    for operator in operators:
        for node in operator.subtree():
            if id(node) not in seen:
                seen.add(id(node))
                yield from ((piece, node) for piece in node.work)


def kernel_key(piece: dict[str, Any]) -> tuple[Any, ...]:
    """Name, operator, grid, block, registers, shared memory."""
    args = piece["args"]
    owner = piece["owner"]
    return (
        piece["name"],
        None if owner is None else owner.name,
        *(None if args.get(k) is None else json.dumps(args[k]) for k in ("grid", "block")),
        args.get("registers per thread"),
        args.get("shared memory"),
    )


def kernel_sums(
    kernels: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], Any]
) -> dict[Any, tuple[float | None, ...]]:
    """Group → (calls, total, mean, min, max, blocks per SM, occupancy), times in µs."""
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for piece in kernels:
        groups[key(piece)].append(piece)
    result: dict[Any, tuple[float | None, ...]] = {}
    for group, pieces in groups.items():
        durs = [ns(piece["dur"]) / 1000 for piece in pieces]
        result[group] = (
            len(durs),
            sum(durs),
            sum(durs) / len(durs),
            min(durs),
            max(durs),
            _weighted(pieces, "blocks per SM"),
            _weighted(pieces, "est. achieved occupancy %"),
        )
    return result


def _weighted(pieces: list[dict[str, Any]], argument: str) -> float | None:
    """Mean weighted by duration over the pieces that have the argument."""
    even = all(piece["dur"] == 0 for piece in pieces)
    known = [
        (piece["args"][argument], 1 if even else piece["dur"])
        for piece in pieces
        if piece["args"].get(argument) is not None
        and not (argument.startswith("est.") and _cannot_be_empty(piece["args"]))
    ]
    weight = sum(w for _, w in known)
    return sum(v * w for v, w in known) / weight if weight else None


def _cannot_be_empty(args: dict[str, Any]) -> bool:
    """Occupancy 0 of a kernel that keeps at least one of a hundred places of a multiprocessor."""
    return not args["est. achieved occupancy %"] and args.get("warps per SM", 0) / 64 >= 0.01
