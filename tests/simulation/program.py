"""Programs for the simulated machine: what a host thread does, one operation after the other.

A program is a tree of plain values, so that a test can take a cause out of it (:func:`rewritten`)
and run the same program without it. All times are µs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

COMPUTE = 7
COMMUNICATION = 20
"""Streams."""


@dataclass(frozen=True)
class Work:
    """The host computes; no event of its own, so it belongs to the range around it, if any."""

    us: float


@dataclass(frozen=True)
class Range:
    """Something the profiler writes around other operations. It costs ``us`` before its body and
    as much after it."""

    name: str
    body: tuple[Operation, ...] = ()
    us: float = 0.0
    kind: Literal["operator", "annotation", "frame", "step"] = "operator"


@dataclass(frozen=True)
class OnThread:
    """Operations of another thread, which the thread they stand on waits for (backward)."""

    thread: int
    body: tuple[Operation, ...]


@dataclass(frozen=True)
class Launch:
    """A kernel. ``loading_us``: its code is loaded inside the call, before it can run."""

    name: str
    kernel_us: float
    call_us: float = 4.0
    loading_us: float = 0.0
    stream: int = COMPUTE
    call: str = "cudaLaunchKernel"


@dataclass(frozen=True)
class Graph:
    """One call that replays kernels back to back; the file holds the first ``recorded`` of them
    (None: all)."""

    kernels: tuple[tuple[str, float], ...]
    call_us: float = 10.0
    recorded: int | None = None
    stream: int = COMPUTE
    call: str = "cudaGraphLaunch"


@dataclass(frozen=True)
class Copy:
    """A copy between host and device.

    Waiting calls return when the copy has ended, so after everything before it in its stream; the
    others after ``staging_us`` (the host copies pageable memory to a buffer) and the call itself.
    """

    kind: Literal["HtoD", "DtoH"]
    copy_us: float
    waits: bool
    is_pageable: bool = True
    staging_us: float = 0.0
    call_us: float = 6.0
    stream: int = COMPUTE
    call: str = "cudaMemcpyAsync"


@dataclass(frozen=True)
class Synchronize:
    """The host waits until a stream, or every stream of the device (None), has no work."""

    stream: int | None = None
    call_us: float = 4.0
    call: str = "cudaDeviceSynchronize"


@dataclass(frozen=True)
class StreamWait:
    """Later work of a stream waits for what another one has been given so far."""

    stream: int
    on: int
    call_us: float = 1.0


@dataclass(frozen=True)
class Collective:
    """A collective on its stream; the last peer comes ``peers_late_us`` after this rank, and the
    kernel waits for it."""

    us: float
    peers_late_us: float = 0.0
    name: str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
    call_us: float = 6.0
    stream: int = COMMUNICATION


@dataclass(frozen=True)
class Call:
    """A runtime call that keeps the host only (``cudaMalloc``)."""

    call: str
    us: float


@dataclass(frozen=True)
class Loading:
    """The next batch of a DataLoader of this process."""

    us: float


Operation: TypeAlias = (
    Work
    | Range
    | OnThread
    | Launch
    | Graph
    | Copy
    | Synchronize
    | StreamWait
    | Collective
    | Call
    | Loading
)
Program = tuple[Operation, ...]
Rule = Callable[[Operation], Sequence[Operation]]


def rewritten(program: Sequence[Operation], rule: Rule) -> Program:
    """The program with every operation replaced by what a rule makes of it, from inside out."""
    operations: list[Operation] = []
    for operation in program:
        if isinstance(operation, (Range, OnThread)):
            inside = rewritten(operation.body, rule)
            operations += rule(replace(operation, body=inside))
        else:
            operations += rule(operation)
    return tuple(operations)


def operator(name: str, *body: Operation, us: float = 2.0) -> Range:
    """An operator of the framework."""
    return Range(name, body, us)


def frame(name: str, *body: Operation, us: float = 0.0) -> Range:
    """A function of Python."""
    return Range(name, body, us, "frame")


def annotation(name: str, *body: Operation, us: float = 0.0) -> Range:
    """A ``record_function``."""
    return Range(name, body, us, "annotation")


def steps(count: int, *body: Operation) -> Program:
    """The same step several times."""
    return tuple(Range(f"ProfilerStep#{number}", body, kind="step") for number in range(count))


def launching(name: str, kernel: str, kernel_us: float, us: float = 5.0) -> Range:
    """An operator that launches one kernel and costs the host ``2 us + 4``."""
    return operator(name, Launch(kernel, kernel_us), us=us)


def item() -> Range:
    """``tensor.item()``: a copy to the host and a wait for its stream."""
    fetch = Copy("DtoH", 1.5, waits=False)
    wait = Synchronize(COMPUTE, call="cudaStreamSynchronize")
    return operator("aten::item", operator("aten::_local_scalar_dense", fetch, wait), us=1.0)
