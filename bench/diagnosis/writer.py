"""Writes the moments of one thread, operation after operation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.diagnosis.model import Key, Moment, Rank, Span, Stream, Wait, Work


@dataclass(frozen=True)
class Style:
    """The words of a recording: categories by the age of its profiler, calls by its vendor."""

    operator: str = "cpu_op"
    annotation: str = "user_annotation"
    frame: str = "python_function"
    runtime: str = "cuda_runtime"
    kernel: str = "kernel"
    memcpy: str = "gpu_memcpy"
    vendor: str = "cuda"
    has_frames: bool = False

    @staticmethod
    def of(rank: Rank) -> Style:
        """The style of a recording."""
        categories = {moment.span.category for moment in rank.moments}
        is_hip = any(moment.span.name.startswith("hip") for moment in rank.moments)
        vendor = "hip" if is_hip else "cuda"
        frames = "python_function" in categories
        if "Operator" in categories:
            words = ("Operator", "Operator", "python_function", "Runtime", "Kernel", "Memcpy")
            return Style(*words, vendor, frames)
        return Style(vendor=vendor, has_frames=frames)


@dataclass
class Writer:
    """Writes moments; every method costs the host what it says.

    Attributes:
        thread: Process and thread of the slices.
        style: Words of the recording.
        compute: The stream of computation.
        ids: Correlation ids, and ids of frames.
    """

    thread: tuple[object, object]
    style: Style
    compute: Stream
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(10_000_000))
    moments: list[Moment] = field(default_factory=list)
    pending: float = 0.0

    def host(self, us: float) -> None:
        """The host computes, without a slice of its own."""
        self.pending += us

    @contextmanager
    def span(
        self, name: str, category: str | None = None, us: float = 0.0, **args: Any
    ) -> Iterator[None]:
        """A slice (an operator unless a category is given) around what is written inside; it costs
        half of ``us`` before that, and half after it."""
        with self._span(name, us, args, category):
            yield

    @contextmanager
    def _span(
        self, name: str, us: float, args: dict[str, Any], category: str | None = None
    ) -> Iterator[None]:
        span = Span(name, category or self.style.operator, *self.thread, args)
        self._add(Moment(span, "begin", self._gap()))
        self.host(us / 2)
        yield
        self.host(us / 2)
        self._add(Moment(span, "end", self._gap()))

    def slice(self, name: str, us: float, category: str | None = None, **args: Any) -> None:
        """A slice of a length."""
        with self.span(name, category, us, **args):
            pass

    def memory(self, size: int, allocated: int, reserved: int) -> None:
        """The caching allocator gives ``size`` bytes of the device; both totals are those after."""
        args = {"Device Id": 0, "Device Type": 1, "Addr": next(self.ids) << 20, "Bytes": size}
        args |= {"Total Allocated": allocated, "Total Reserved": reserved}
        span = Span("[memory]", "cpu_instant_event", *self.thread, args, "i", {"s": "t"})
        self._add(Moment(span, "point", self._gap()))

    def frame(self, name: str, us: float) -> None:
        """A Python function without operators; only time if the recording has no frames."""
        if self.style.has_frames:
            self.slice(name, us, self.style.frame, **{"Python id": next(self.ids)})
        else:
            self.host(us)

    def call(
        self, name: str, us: float, works: list[Work] | None = None, wait: Wait | None = None
    ) -> None:
        """A call of the runtime, named without the vendor's prefix."""
        corr = next(self.ids)
        for work in works or []:
            work.args["correlation"] = corr
        span = Span(
            f"{self.style.vendor}{name}",
            self.style.runtime,
            *self.thread,
            {"correlation": corr, "cbid": 0},
        )
        self._add(Moment(span, "begin", self._gap(), launches=works or []))
        self.host(us)
        self._add(Moment(span, "end", self._gap(), wait=wait))

    def kernel(
        self, name: str, us: float, *, call_us: float = 4.0, stream: Stream | None = None
    ) -> Work:
        """Launch a kernel."""
        args = {"grid": [256, 1, 1], "block": [256, 1, 1]}
        work = Work(name, self.style.kernel, stream or self.compute, us, call_us + 1.0, args=args)
        self.call("LaunchKernel", call_us, [work])
        return work

    def graph(self, kernels: list[tuple[str, float]]) -> None:
        """Launch a graph."""
        works = [
            Work(name, self.style.kernel, self.compute, us, 11.0, 1.0, args={"graph id": 1})
            for name, us in kernels
        ]
        self.call("GraphLaunch", 10.0, works)

    def copy(
        self,
        kind: str,
        us: float,
        *,
        staging_us: float = 0.0,
        is_blocking: bool,
        is_pageable: bool = True,
        size: int = 1 << 20,
    ) -> Work:
        """Copy between host and device. Pageable memory is staged by the host inside the call."""
        memory = "Pageable" if is_pageable else "Pinned"
        ends = (memory, "Device") if kind == "HtoD" else ("Device", memory)
        name = f"Memcpy {kind} ({ends[0]} -> {ends[1]})"
        work = Work(name, self.style.memcpy, self.compute, us, args={"bytes": size})
        work.after_launch = staging_us + 3.0
        wait = Wait(work, 3.0) if is_blocking else None
        self.call("MemcpyAsync", staging_us + 5.0, [work], wait)
        return work

    def synchronize(self, stream: Stream | None, us: float = 3.0) -> None:
        """Wait for a stream, or for the whole device."""
        name = "DeviceSynchronize" if stream is None else "StreamSynchronize"
        self.call(name, us, wait=Wait(stream, 3.0))

    def collective(self, key: Key, name: str, us: float, stream: Stream, size: int) -> Work:
        """Start a collective after what the stream of computation was given so far."""
        args: dict[str, Any] = {
            "Collective name": name,
            "In msg nelems": size // 4,
            "dtype": "Float",
        }
        args |= {"Out msg nelems": size // 4, "Group size": 2, "Process Group Name": "0"}
        kernel = f"ncclDevKernel_{NCCL_NAMES[name]}_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
        work = Work(kernel, self.style.kernel, stream, us, 8.0, args=args, collective=key)
        with self.span(f"c10d::{name}_", us=20.0), self._span("record_param_comms", 6.0, args):
            self.call("EventRecord", 1.0)
            self.call("StreamWaitEvent", 1.0)
            with self.span(f"nccl:{name}", self.style.annotation, 4.0):
                self.call("LaunchKernelExC", 6.0, [work])
        return work

    def end(self) -> list[Moment]:
        """What was written, without time that is still pending."""
        return self.moments

    def _gap(self) -> float:
        gap, self.pending = self.pending, 0.0
        return gap

    def _add(self, moment: Moment) -> None:
        self.moments.append(moment)


NCCL_NAMES = {"allreduce": "AllReduce_Sum", "allgather": "AllGather", "broadcast": "Broadcast"}
