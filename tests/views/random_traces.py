"""Random recordings for hypothesis: steps, nested operators, launches and device work.

Times are whole ns below about 500, so that a brute force may look at every moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.helpers.traces import (
    Event,
    annotation,
    call,
    kernel,
    memcpy,
    memset,
    op,
    step,
)
from torch_tb_profiler.analysis.selection import Selection

NAMES = ["aten::mm", "aten::add", "aten::conv2d", "custom::op", "nccl:all_reduce"]
KERNELS = ["volta_s884gemm", "vectorized_elementwise_kernel", "mystery", "ncclKernel_AllReduce"]
SHAPES: list[list[Any] | None] = [None, [[2]], [[3, 4], []]]


@dataclass(frozen=True)
class Recording:
    """Events as in a file, and a selection that fits them."""

    events: list[Event]
    selection: Selection


@dataclass
class _Open:
    name: str
    start: int
    shape: list[Any] | None
    is_annotation: bool


class _Thread:
    """Writes one host thread: opens and closes ranges, so that they nest."""

    def __init__(self, tid: int, draw: st.DrawFn, events: list[Event], ids: list[int]) -> None:
        self.tid = tid
        self.draw = draw
        self.events = events
        self.ids = ids
        self.now = draw(st.integers(0, 20))
        self.stack: list[_Open] = []
        self.step_start: int | None = None
        self.step = 0

    def advance(self) -> None:
        self.now += self.draw(st.integers(1, 6))

    def open(self) -> None:
        name = self.draw(st.sampled_from(NAMES))
        shape = self.draw(st.sampled_from(SHAPES))
        self.stack.append(_Open(name, self.now, shape, self.draw(st.integers(0, 5)) == 0))

    def close(self) -> None:
        if not self.stack:
            return
        top = self.stack.pop()
        make = annotation if top.is_annotation else op
        self.events.append(
            make(
                top.name,
                top.start / 1000,
                (self.now - top.start) / 1000,
                tid=self.tid,
                shape=top.shape,
            )
        )

    def launch(self) -> None:
        draw = self.draw
        self.ids[0] += 1
        correlation = self.ids[0]
        dur = draw(st.integers(1, 5))
        self.events.append(
            call("cudaLaunchKernel", self.now / 1000, dur / 1000, tid=self.tid, corr=correlation)
        )
        for _ in range(draw(st.sampled_from([1, 1, 1, 0, 2]))):
            start = (self.now + draw(st.integers(0, 15))) / 1000
            length = draw(st.integers(0, 20)) / 1000
            where: dict[str, Any] = {
                "corr": correlation if draw(st.integers(0, 9)) else correlation + 10_000,
                "device": draw(st.integers(0, 1)),
                "stream": draw(st.integers(7, 8)),
            }
            kind = draw(st.integers(0, 5))
            if kind == 0:
                self.events.append(memcpy(start, length, **where))
            elif kind == 1:
                self.events.append(memset(start, length, **where))
            else:
                self.events.append(self._kernel(start, length, where))
        self.now += dur

    def _kernel(self, start: float, length: float, where: dict[str, Any]) -> Event:
        draw = self.draw
        return kernel(
            draw(st.sampled_from(KERNELS)),
            start,
            length,
            blocks=draw(st.sampled_from([None, 0.25, 1.5])),
            occupancy=draw(st.sampled_from([None, 0, 40])),
            grid=draw(st.sampled_from([None, [1, 1, 1], [2, 1, 1]])),
            **where,
        )

    def next_step(self) -> None:
        while self.stack:
            self.close()
            self.advance()
        if self.step_start is not None:
            self.events.append(
                step(
                    self.step,
                    self.step_start / 1000,
                    (self.now - self.step_start) / 1000,
                    tid=self.tid,
                )
            )
            self.advance()
        self.step += 1
        self.step_start = self.now
        self.advance()

    def finish(self) -> None:
        while self.stack:
            self.close()
            self.advance()
        if self.step_start is not None:
            self.next_step()


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """A recording of one or two host threads, the first with or without steps."""
    events: list[Event] = []
    ids = [0]
    with_steps = draw(st.booleans())
    for tid in range(1, draw(st.integers(1, 2)) + 1):
        thread = _Thread(tid, draw, events, ids)
        moves = [thread.open, thread.open, thread.close, thread.launch]
        if with_steps and tid == 1:
            thread.next_step()
            moves.append(thread.next_step)
        for move in draw(st.lists(st.sampled_from(moves), max_size=14)):
            move()
            thread.advance()
        thread.finish()
    order = draw(st.permutations(range(len(events)))) if len(events) < 8 else range(len(events))
    return Recording([events[i] for i in order], draw(_selections(events)))


@st.composite
def _selections(draw: st.DrawFn, events: list[Event]) -> Selection:
    names = [e["name"].partition("#")[2] for e in events if e["name"].startswith("ProfilerStep#")]
    steps = draw(st.none() | st.sampled_from(names)) if names else None
    start = draw(st.none() | st.integers(0, 120))
    end = draw(st.none() | st.integers(0, 200))
    return Selection(steps=steps, start_ns=start, end_ns=end)
