"""One host and one device that run a program: the events a profiler would write, and how long it
took.

The device starts a kernel when its launch has arrived, its stream is free and what the stream
waits for has ended; the host waits as the CUDA runtime does. Nothing here knows the product, so
what it says about a program is a second opinion.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.helpers.traces import Event, annotation, call, frame, kernel, memcpy, op
from tests.simulation.program import (
    Call,
    Collective,
    Copy,
    Graph,
    Launch,
    Loading,
    OnThread,
    Operation,
    Program,
    Range,
    StreamWait,
    Synchronize,
    Work,
)

LATENCY_US = 2.0
"""From the return of a launch until the kernel can run."""
QUEUE = 1024
"""So many launches may wait on the device; the next one waits on the host."""
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

Span = tuple[float, float]


@dataclass(frozen=True)
class Run:
    """What happened. ``length_us`` is from the first operation to the end of the last, on host or
    device; ``busy`` is when the device worked, ``computing`` when a kernel other than
    communication ran, ``running`` when any kernel did: disjoint and in order. They hold what
    really ran, recorded or not."""

    events: list[Event]
    length_us: float
    busy: list[Span]
    computing: list[Span]
    running: list[Span]

    @property
    def idle_us(self) -> float:
        """How long the device did nothing."""
        return self.length_us - length(self.busy)


def run(program: Program, *, queue: int = QUEUE) -> Run:
    """Run a program."""
    machine = _Machine(queue)
    for operation in program:
        machine.do(operation, 1)
    done = max([machine.now, *machine.stream_free.values()])
    every = machine.compute + machine.communication
    return Run(
        events=machine.events,
        length_us=done,
        busy=disjoint(every + machine.copies),
        computing=disjoint(machine.compute),
        running=disjoint(every),
    )


def disjoint(spans: list[Span]) -> list[Span]:
    """The union of spans."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def length(spans: list[Span]) -> float:
    """Total length of disjoint spans."""
    return sum(end - start for start, end in spans)


@dataclass
class _Machine:
    queue: int
    now: float = 0.0
    events: list[Event] = field(default_factory=list)
    stream_free: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    compute: list[Span] = field(default_factory=list)
    communication: list[Span] = field(default_factory=list)
    copies: list[Span] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)
    correlation: int = 0

    def do(self, operation: Operation, thread: int) -> None:
        kinds: dict[type, Callable[..., None]] = {
            Work: self._work,
            Range: self._range,
            OnThread: self._on_thread,
            Launch: self._launch,
            Graph: self._graph,
            Copy: self._copy,
            Synchronize: self._synchronize,
            StreamWait: self._stream_wait,
            Collective: self._collective,
            Call: self._call,
            Loading: self._loading,
        }
        kinds[type(operation)](operation, thread)

    def _work(self, work: Work, _thread: int) -> None:
        self.now += work.us

    def _range(self, it: Range, thread: int) -> None:
        start = self.now
        self.now += it.us
        for operation in it.body:
            self.do(operation, thread)
        self.now += it.us
        make = {"operator": op, "annotation": annotation, "frame": frame, "step": annotation}
        self.events.append(make[it.kind](it.name, start, self.now - start, tid=thread))

    def _on_thread(self, it: OnThread, _thread: int) -> None:
        for operation in it.body:
            self.do(operation, it.thread)

    def _launch(self, launch: Launch, thread: int) -> None:
        started = self._admitted()
        self.now += launch.loading_us + launch.call_us
        corr = self._host_call(launch.call, started, thread)
        span = self._device(launch.stream, launch.kernel_us, self.compute)
        self._kernel(launch.name, span, corr, launch.stream)

    def _graph(self, graph: Graph, thread: int) -> None:
        started = self._admitted()
        self.now += graph.call_us
        corr = self._host_call(graph.call, started, thread)
        for number, (name, kernel_us) in enumerate(graph.kernels):
            span = self._device(graph.stream, kernel_us, self.compute)
            if graph.recorded is None or number < graph.recorded:
                self._kernel(name, span, corr, graph.stream)

    def _copy(self, copy: Copy, thread: int) -> None:
        started = self.now
        self.now += copy.staging_us + copy.call_us
        span = self._device(copy.stream, copy.copy_us, self.copies)
        if copy.waits:
            self.now = max(self.now, span[1])
        corr = self._host_call(copy.call, started, thread)
        memory = "Pageable" if copy.is_pageable else "Pinned"
        ends = (memory, "Device") if copy.kind == "HtoD" else ("Device", memory)
        name = f"Memcpy {copy.kind} ({ends[0]} -> {ends[1]})"
        where = {"corr": corr, "stream": copy.stream}
        self.events.append(memcpy(span[0], span[1] - span[0], name=name, **where))

    def _synchronize(self, wait: Synchronize, thread: int) -> None:
        started = self.now
        streams = list(self.stream_free) if wait.stream is None else [wait.stream]
        done = max((self.stream_free[stream] for stream in streams), default=0.0)
        self.now = max(self.now, done) + wait.call_us
        self._host_call(wait.call, started, thread)

    def _stream_wait(self, wait: StreamWait, thread: int) -> None:
        started = self.now
        self.now += wait.call_us
        free = self.stream_free
        free[wait.stream] = max(free[wait.stream], free[wait.on])
        self._host_call("cudaStreamWaitEvent", started, thread)

    def _collective(self, it: Collective, thread: int) -> None:
        started = self._admitted()
        self.now += it.call_us
        corr = self._host_call("cudaLaunchKernelExC", started, thread)
        span = self._device(it.stream, it.peers_late_us + it.us, self.communication)
        self._kernel(it.name, span, corr, it.stream)

    def _call(self, it: Call, thread: int) -> None:
        started = self.now
        self.now += it.us
        self._host_call(it.call, started, thread)

    def _loading(self, it: Loading, thread: int) -> None:
        self.events.append(annotation(LOADER, self.now, it.us, tid=thread))
        self.now += it.us

    def _admitted(self) -> float:
        """When a launch begins; it goes on once the device has room for it."""
        started = self.now
        while self.waiting and self.waiting[0] <= self.now:
            heapq.heappop(self.waiting)
        while len(self.waiting) >= self.queue:
            self.now = heapq.heappop(self.waiting)
        return started

    def _device(self, stream: int, work_us: float, kind: list[Span]) -> Span:
        """Work that is launched now; when it runs."""
        start = max(self.now + LATENCY_US, self.stream_free[stream])
        end = start + work_us
        self.stream_free[stream] = end
        heapq.heappush(self.waiting, end)
        kind.append((start, end))
        return start, end

    def _host_call(self, name: str, started: float, thread: int) -> int:
        self.correlation += 1
        event = call(name, started, self.now - started, tid=thread, corr=self.correlation)
        self.events.append(event)
        return self.correlation

    def _kernel(self, name: str, span: Span, corr: int, stream: int) -> None:
        self.events.append(kernel(name, span[0], span[1] - span[0], corr=corr, stream=stream))
