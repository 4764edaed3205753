"""An encoder of Paddle's ``NodeTreesProto`` for tests: only what the tests say is written.

Numbers of fields: ``docs/format-paddle.md#protobuf``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.importers.protobuf.encode import field as encoded
from tests.importers.protobuf.encode import message, varint

KERNEL, MEMCPY, MEMSET = 4, 5, 6
"""Types of device events."""


@dataclass(frozen=True)
class Work:
    """Work of a device; ``details`` are the fields of what is known of its kind."""

    name: str
    type: int
    start_ns: int
    end_ns: int
    correlation: int
    details: Mapping[int, int | float | str] = field(default_factory=dict)
    device: int = 0
    stream: int = 7

    def encode(self) -> bytes:
        details = b"".join(
            varint(number << 3 | 5) + struct.pack("<f", value)
            if isinstance(value, float)
            else encoded(number, value)
            for number, value in self.details.items()
        )
        return message(
            (1, self.name), (2, self.type), (3, self.start_ns), (4, self.end_ns),
            (5, self.device), (6, 1), (7, self.stream), (8, self.correlation),
            (9 + self.type - KERNEL, details),
        )  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call into the runtime of a device, and what it launched."""

    name: str
    start_ns: int
    end_ns: int
    correlation: int
    launched: Sequence[Work] = ()

    def encode(self, pid: int, tid: int) -> bytes:
        own = message((1, self.name), (2, self.start_ns), (3, self.end_ns), (4, pid), (5, tid),
                      (6, self.correlation), (7, 1))  # fmt: skip
        return message((1, own), *((2, message((1, work.encode()))) for work in self.launched))


@dataclass(frozen=True)
class Memory:
    """A memory event: its type is 0 (allocate), 1 (free), 2 or 3 (of the pool)."""

    time_ns: int
    type: int
    address: int
    size_bytes: int
    place: str = "Place(gpu:0)"
    allocated_bytes: int = 0
    reserved_bytes: int = 0

    def encode(self, pid: int, tid: int) -> bytes:
        return message(
            (1, self.time_ns), (2, self.type), (3, self.address), (4, pid), (5, tid),
            (6, self.size_bytes), (7, self.place), (8, self.allocated_bytes),
            (9, self.reserved_bytes), (10, 0), (11, 0),
        )  # fmt: skip


@dataclass(frozen=True)
class Inputs:
    """Shapes and types by parameter, and who called."""

    shapes: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stack: str = ""

    def encode(self) -> bytes:
        shapes = [
            (2, message(*((1, b"".join(encoded(1, n) for n in shape)) for shape in tensors)))
            for tensors in self.shapes.values()
        ]
        types = [(2, message(*((1, one) for one in given))) for given in self.types.values()]
        return message(
            (1, 0), (2, "op"), (3, 1), (4, 1),
            (5, message(*((1, name) for name in self.shapes), *shapes)),
            (6, message(*((1, name) for name in self.types), *types)),
            (7, self.stack),
        )  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A host event with all that lies in it."""

    name: str
    type: int
    start_ns: int
    end_ns: int
    calls: Sequence[Call] = ()
    memory: Sequence[Memory] = ()
    inputs: Inputs | None = None
    parent: int = 0

    def encode(self, number: int, pid: int, tid: int) -> bytes:
        event = message((1, self.name), (2, self.type), (3, self.start_ns), (4, self.end_ns),
                        (5, pid), (6, tid))  # fmt: skip
        inputs = [] if self.inputs is None else [(6, message((1, self.inputs.encode())))]
        return message(
            (1, number), (2, self.parent), (3, event),
            *((4, call.encode(pid, tid)) for call in self.calls),
            *((5, message((1, one.encode(pid, tid)))) for one in self.memory),
            *inputs,
        )  # fmt: skip


ROOT = Node("root node", 7, 0, -1, parent=-1)


def tree(nodes: Iterable[Node], pid: int = 9, tid: int = 9) -> bytes:
    """One thread: a root, and its nodes."""
    every = [ROOT, *nodes]
    return message((1, tid), *((2, node.encode(n, pid, tid)) for n, node in enumerate(every)))


def recording(
    *trees: bytes,
    extra: Mapping[str, str] | None = None,
    devices: Iterable[Mapping[int, int | str]] = (),
    version: str = "1.0.2",
) -> bytes:
    """A whole file."""
    return message(
        (1, version), (2, 0),
        *((3, one) for one in trees),
        *((4, message((1, key), (2, value))) for key, value in (extra or {}).items()),
        *((5, message(*device.items())) for device in devices),
    )  # fmt: skip
