"""Why devices stand idle, against the definitions read out moment by moment.

``docs/metrics.md#idle-devices``; times of the random traces are whole µs, so a µs is a moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import Event, call, frame, kernel, op, slice_event, step, trace
from torch_tb_profiler.analysis.algebra.intervals import Intervals, total
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.gaps import gaps
from torch_tb_profiler.trace.model import Trace

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
Span = tuple[int, int]
END_US = 6000


@dataclass
class Scene:
    """What happens, in µs. Host calls of a thread are disjoint."""

    threads: dict[int, list[tuple[str, int, int, int | None]]] = field(default_factory=dict)
    """Per thread (what it did, start, end, number of the kernel it launched)."""
    kernels: dict[int, Span] = field(default_factory=dict)

    def events(self) -> list[Event]:
        events: list[Event] = [step(1, 0, END_US)]
        for tid, things in self.threads.items():
            for what, start, end, number in things:
                length = end - start
                if what == "launch":
                    events.append(call("cudaLaunchKernel", start, length, corr=number, tid=tid))
                elif what == "wait":
                    events.append(call("cudaStreamSynchronize", start, length, tid=tid))
                elif what == "malloc":
                    events.append(call("cudaMalloc", start, length, tid=tid))
                elif what == "load":
                    events.append(op(LOADER, start, length, tid=tid))
                elif what == "python":
                    events.append(frame("f.py(1): f", start, length, tid=tid, python_id=start))
                else:
                    events.append(op("aten::add", start, length, tid=tid))
        events += [kernel("k", a, b - a, corr=n) for n, (a, b) in self.kernels.items()]
        return events


class Reference:
    """The definitions, one moment after the other."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.busy = np.zeros(END_US, np.bool_)
        for start, end in scene.kernels.values():
            self.busy[start:end] = True
        self.threads = {
            tid: things
            for tid, things in scene.threads.items()
            if any(what in ("launch", "op", "load") for what, *_ in things)
        }
        self.cause: list[IdleCause | None] = [None] * END_US
        self.budget = 0
        for start, end in self.gaps():
            self.explain(start, end)

    def gaps(self) -> list[Span]:
        edges = np.flatnonzero(np.diff(np.concatenate(([True], self.busy, [True]))))
        return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))

    def waits(self, what: str, start: int, end: int) -> bool:
        """By its name, or as a long call that returns with the end of device work."""
        if what in ("wait", "op", "load", "python") or end - start < 100:
            return what == "wait"
        recent = any(end - 20 <= b <= end for _, b in self.scene.kernels.values())
        return recent and int(self.busy[start:end].sum()) >= 0.9 * (end - start)

    def doing(self, things: list[tuple[str, int, int, int | None]], at: int) -> IdleCause | None:
        for what, start, end, _ in things:
            if start <= at < end:
                if self.waits(what, start, end):
                    return IdleCause.BLOCKED
                if what == "load":
                    return IdleCause.DATA_LOADING
                if what == "malloc" and end - start >= 100:
                    return IdleCause.LONG_CALL
                if what != "python":
                    return IdleCause.HOST
        return None

    def explain(self, start: int, end: int) -> None:
        ends_gap = [n for n, (a, _) in self.scene.kernels.items() if a == end]
        launch = None
        for tid, things in self.threads.items():
            for what, _, returned, number in things:
                if what == "launch" and number in ends_gap:
                    launch = (tid, returned)
        late_until = end if launch is None else min(max(launch[1], start), end)
        is_long = end - late_until >= 200
        for at in range(late_until, end):
            self.cause[at] = IdleCause.WAITING_WORK if is_long else IdleCause.KERNEL_TO_KERNEL
        own = self.threads.get(launch[0], []) if launch else []
        for at in range(start, late_until):
            cause = self.doing(own, at)
            if cause is None:
                everything = [thing for things in self.threads.values() for thing in things]
                cause = min(
                    (c for t in everything if (c := self.doing([t], at)) is not None),
                    key=(
                        IdleCause.BLOCKED,
                        IdleCause.DATA_LOADING,
                        IdleCause.LONG_CALL,
                        IdleCause.HOST,
                    ).index,
                    default=None,
                )
            self.cause[at] = cause
        self.fill(start, late_until, launch is not None)
        self.charge(start, late_until, launch and launch[0])

    def fill(self, start: int, end: int, launched: bool) -> None:
        """Moments without a record: Python or nothing, or, if short, the host."""
        frames = [
            thing for things in self.threads.values() for thing in things if thing[0] == "python"
        ]
        at = start
        while at < end:
            if self.cause[at] is not None:
                at += 1
                continue

            def kind(moment: int) -> IdleCause:
                inside = any(a <= moment < b for _, a, b, _ in frames)
                return IdleCause.PYTHON if inside else IdleCause.UNRECORDED

            stop = at
            while stop < end and self.cause[stop] is None and kind(stop) == kind(at):
                stop += 1
            cause = IdleCause.HOST if launched and stop - at < 1000 else kind(at)
            for moment in range(at, stop):
                self.cause[moment] = cause
            at = stop

    def charge(self, start: int, late_until: int, launcher: int | None) -> None:
        """What a wait that had drained the device brought about."""
        if late_until <= start:
            self.budget = 0
            return
        waits = [
            (tid == launcher, b, a, self.blocked_us(launcher, tid, a, start))
            for tid, things in self.threads.items()
            for what, a, b, _ in things
            if self.waits(what, a, b) and a < start <= b and self.last_gap_before(b) == start
        ]
        returned = start
        if drained := [wait for wait in waits if wait[-1]]:
            _, b, _, waited = max(drained)
            self.budget += waited
            returned = min(b, start + waited)
        for at in range(start, late_until):
            is_return = self.cause[at] == IdleCause.BLOCKED and at < returned
            is_own = self.cause[at] == IdleCause.HOST or is_return
            if is_own and self.budget > 0:
                self.cause[at] = IdleCause.AFTER_WAIT
                self.budget -= 1

    def blocked_us(self, launcher: int | None, waiting: int, start: int, end: int) -> int:
        """How long devices worked while a thread waited and the one that launches did not work."""
        idle = launcher is None or launcher == waiting
        return sum(
            bool(self.busy[at]) and (idle or not self.at_work(launcher, at))
            for at in range(start, end)
        )

    def at_work(self, tid: int | None, at: int) -> bool:
        """Whether a thread runs something, or is between two records less than 1 ms apart."""
        things = [
            (a, b, self.waits(what, a, b))
            for what, a, b, _ in self.threads[tid or 0]
            if what != "python"
        ]
        if any(a <= at < b for a, b, _ in things):
            return not any(a <= at < b and waits for a, b, waits in things)
        before = max((b for _, b, _ in things if b <= at), default=None)
        after = min((a for a, _, _ in things if a > at), default=None)
        return before is not None and after is not None and after - before <= 1000

    def last_gap_before(self, at: int) -> int:
        return max((start for start, _ in self.gaps() if start <= at), default=-1)


def by_moment(of: Trace) -> list[IdleCause | None]:
    causes: list[IdleCause | None] = [None] * END_US
    for cause, intervals in zip(IdleCause, idle_causes(of).intervals, strict=True):
        for start, end in zip(intervals.start_ns.tolist(), intervals.end_ns.tolist(), strict=True):
            assert start % 1000 == end % 1000 == 0
            for at in range(start // 1000, end // 1000):
                assert causes[at] is None
                causes[at] = cause
    return causes


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    scene = Scene()
    free, number = 0, 0
    lengths = {"wait": 400, "malloc": 1500, "load": 900, "python": 1400, "op": 300, "launch": 8}
    for tid in range(1, draw(st.integers(1, 2)) + 1):
        at = draw(st.integers(0, 200))
        things: list[tuple[str, int, int, int | None]] = []
        for what in draw(
            st.lists(st.sampled_from((*lengths, "launch", "launch", "wait")), max_size=9)
        ):
            length = draw(st.integers(1, lengths[what]))
            if what == "wait" and free > at and draw(st.booleans()):
                length = free - at + draw(st.sampled_from((0, 5, 40)))
            if at + length >= END_US - 1500:
                break
            if what == "launch":
                number += 1
                begin = max(free, at + length + draw(st.integers(0, 9)))
                free = begin + draw(st.integers(1, 300))
                if free >= END_US:
                    break
                scene.kernels[number] = (begin, free)
            things.append((what, at, at + length, number if what == "launch" else None))
            at += length + draw(st.sampled_from((0, 3, 60, 1100)))
        scene.threads[tid] = things
    return scene


@given(scenes())
def test_every_moment_has_the_cause_of_the_definitions(scene: Scene) -> None:
    of = trace(scene.events())
    causes = by_moment(of)
    if not scene.kernels:
        assert causes == [None] * END_US
        return
    assert causes == Reference(scene).cause
    idle = gaps(of)
    assert sum(map(total, idle_causes(of).intervals)) == total(
        Intervals(idle.start_ns, idle.end_ns)
    )


def test_the_profilers_overhead_comes_before_all_else() -> None:
    events = [
        step(1, 0, 1000),
        call("cudaLaunchKernel", 10, 700, corr=1),
        slice_event("overhead", "Activity Buffer Request", 100, 500, pid="-1", tid="0"),
        kernel("k", 720, 100, corr=1),
    ]
    overhead = idle_causes(trace(events)).intervals[IdleCause.PROFILER]
    assert overhead.start_ns.tolist() == [100_000]
    assert overhead.end_ns.tolist() == [600_000]


def test_the_wait_of_a_thread_is_no_cause_while_the_launching_one_works() -> None:
    waiting = [
        call("cudaLaunchKernel", 0, 10, corr=1, tid=2),
        kernel("k", 20, 480, corr=1),
        call("cudaEventSynchronize", 30, 480, tid=2),
        call("cudaLaunchKernel", 900, 10, corr=2),
        kernel("k", 920, 80, corr=2),
    ]

    def after_waits(*events: Event) -> int:
        return total(idle_causes(trace([*waiting, *events])).intervals[IdleCause.AFTER_WAIT])

    assert after_waits(op("aten::add", 0, 890)) == 0
    assert after_waits(op("aten::add", 530, 360)) > 0
    of_another_process = op("aten::add", 530, 360, pid="2000")
    assert after_waits(of_another_process) > 0


def test_the_wait_of_another_process_is_no_cause() -> None:
    def ends_with(pid: str) -> int:
        events = [
            call("cudaLaunchKernel", 0, 10, corr=1, pid=pid),
            kernel("k", 20, 480, corr=1),
            call("cudaStreamSynchronize", 30, 480, pid=pid),
            op("aten::add", 520, 380),
            call("cudaLaunchKernel", 900, 10, corr=2),
            kernel("k", 920, 80, corr=2),
        ]
        return total(idle_causes(trace(events)).intervals[IdleCause.AFTER_WAIT])

    assert ends_with("1000") > 0
    assert ends_with("2000") == 0


def test_gaps_that_no_recorded_call_ends_are_not_recorded() -> None:
    intervals = idle_causes(trace([kernel("k", 0, 10), kernel("k", 50, 10)])).intervals
    assert [total(of) for of in intervals] == [
        40_000 if cause is IdleCause.UNRECORDED else 0 for cause in IdleCause
    ]
