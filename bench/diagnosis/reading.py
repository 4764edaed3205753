"""Reads a Kineto recording as a program that can be replayed.

What a work or a call waited for is not recorded; it follows from the times. Of what may have held
a work (its launch, its stream, work of another stream) the one that passed last did; the others
keep the time that they can have had at most. So a replay without changes gives the recorded times.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.diagnosis.model import Moment, Rank, Span, Stream, Wait, Work

DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
LAUNCHES = frozenset({"cuda_runtime", "cuda_driver", "runtime"})
LEFT_OUT = frozenset({"gpu_user_annotation", "trace", "cuda_sync", "overhead"})
OPERATORS = frozenset({"cpu_op", "operator", "user_annotation"})
WAITS = re.compile(r"(cuda|hip)(Stream|Device|Event)Synchronize")
COPIES = re.compile(r"(cuda|hip)Memcpy\w*")
COMMUNICATION = re.compile(r"nccl|rccl", re.IGNORECASE)
POLLS = re.compile(r"(cuda|hip)EventQuery")
WAIT_EVENT = re.compile(r"(cuda|hip)StreamWaitEvent")

SHORT_LAUNCH_US = 6.0
SHORT_GAP_US = 1.5
SHORT_CALL_US = 3.0
FREE_US = 20.0
"""A stream was free if its last work ended so long before."""
HELD_US = 15.0
"""Work of another stream that ended at most so long before a late start held it."""

Event = dict[str, Any]


def read(path: Path) -> Rank:
    """Read a file of torch.profiler, maybe compressed."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        data = json.load(file)
    return build(data)


def build(data: dict[str, Any]) -> Rank:
    """The recording in a parsed file."""
    events = [event for event in data["traceEvents"] if isinstance(event, dict)]
    slices = [event for event in events if event.get("ph") == "X" and "dur" in event]
    device = [event for event in slices if _category(event) in DEVICE]
    host = _of_kept_threads(event for event in slices if _category(event) not in DEVICE | LEFT_OUT)
    threads = {_thread(event) for event in host}
    first = min(event["ts"] for event in host)
    last = max(event["ts"] + event["dur"] for event in host)
    instants = [
        event
        for event in events
        if event.get("ph") in ("i", "s", "f")
        and event.get("cat") not in ("ac2g", "async")
        and _thread(event) in threads
        and first <= event["ts"] <= last
    ]
    moments, at = _moments(host, instants)
    works, start = _works(device)
    _connect(moments, at, works, start)
    names = [event for event in events if event.get("ph") == "M"]
    head = {key: value for key, value in data.items() if key != "traceEvents"}
    return Rank(moments, head, names, _main_thread(host))


def _category(event: Event) -> str:
    return str(event.get("cat", "")).lower()


def _thread(event: Event) -> tuple[object, object]:
    return event.get("pid"), str(event.get("tid"))


def _of_kept_threads(host: Iterable[Event]) -> list[Event]:
    """The events of the threads that run operators or launch; polling threads only look on."""
    by_thread = defaultdict(list)
    for event in host:
        by_thread[_thread(event)].append(event)
    return [
        event
        for events in by_thread.values()
        if any(
            _category(each) in OPERATORS | LAUNCHES and not POLLS.fullmatch(each["name"])
            for each in events
        )
        for event in events
        if not POLLS.fullmatch(event["name"])
    ]


def _main_thread(host: list[Event]) -> tuple[object, object]:
    """The thread with the steps, else with most events."""
    counts: dict[tuple[object, object], int] = defaultdict(int)
    for event in host:
        weight = 1_000_000 if event["name"].startswith("ProfilerStep#") else 1
        counts[event["pid"], event["tid"]] += weight
    return max(counts, key=lambda thread: counts[thread])


def _moments(host: list[Event], instants: list[Event]) -> tuple[list[Moment], list[float]]:
    """The moments in order of time, and when they were."""
    timed: list[tuple[float, int, float, Moment]] = []
    for event in host:
        span = Span(
            event["name"], event["cat"], event["pid"], event["tid"], dict(event.get("args", {}))
        )
        start, dur = event["ts"], event["dur"]
        if start + dur <= start:
            timed.append((start, 1, 0.0, Moment(span, "point", 0.0)))
            continue
        timed.append((start, 1, -dur, Moment(span, "begin", 0.0)))
        timed.append((start + dur, 0, dur, Moment(span, "end", 0.0)))
    for event in instants:
        known = ("ph", "cat", "name", "pid", "tid", "ts", "args")
        extra = {key: value for key, value in event.items() if key not in known}
        place = event.get("pid"), event.get("tid"), dict(event.get("args", {}))
        span = Span(event["name"], event.get("cat", ""), *place, event["ph"], extra)
        timed.append((event["ts"], 1, 0.0, Moment(span, "point", 0.0)))
    timed.sort(key=lambda each: each[:3])
    before = timed[0][0]
    for at, _, _, moment in timed:
        moment.gap = at - before
        before = at
    return [each[3] for each in timed], [each[0] for each in timed]


def _works(device: list[Event]) -> tuple[list[Work], dict[Work, float]]:
    """The device work in order of time, and when each started."""
    works, starts = [], {}
    for event in sorted(device, key=lambda event: event["ts"]):
        args = dict(event.get("args", {}))
        stream = int(args.get("device", 0)), int(args.get("stream", 0))
        work = Work(event["name"], event["cat"], stream, event["dur"], args=args)
        works.append(work)
        starts[work] = event["ts"]
    return works, starts


def _connect(
    moments: list[Moment], at: list[float], works: list[Work], start: dict[Work, float]
) -> None:
    """Give every work its launch and what held it, and every wait what it waited for."""
    launched = _attach(moments, at, works, start)
    end = {work: start[work] + work.us for work in works}
    quick = _quick_launch(works, start, launched)
    _Device(start, end, launched, quick, _stream_waits(moments, at)).hold(works)
    _find_waits(moments, at, end)


def _attach(
    moments: list[Moment], at: list[float], works: list[Work], start: dict[Work, float]
) -> dict[Work, float]:
    """Attach works to the calls that launched them; those without to the moment before them."""
    by_correlation: dict[object, int] = {}
    for row, moment in enumerate(moments):
        span = moment.span
        if moment.kind != "end" and span.category.lower() in LAUNCHES:
            by_correlation.setdefault(span.args.get("correlation"), row)
    launched = {}
    row = 0
    for work in works:
        found = by_correlation.get(work.args.get("correlation"))
        if found is None or at[found] > start[work]:
            while row + 1 < len(at) and at[row + 1] <= start[work]:
                row += 1
            found = row
        moments[found].launches.append(work)
        launched[work] = at[found]
    return launched


def _quick_launch(
    works: list[Work], start: dict[Work, float], launched: dict[Work, float]
) -> float:
    """From launch to start where the stream was free."""
    free_at: dict[Stream, float] = {}
    times = []
    for work in works:
        if start[work] - free_at.get(work.stream, float("-inf")) > FREE_US:
            times.append(start[work] - launched[work])
        free_at[work.stream] = start[work] + work.us
    return median(times) if times else SHORT_LAUNCH_US


def _stream_waits(moments: list[Moment], at: list[float]) -> list[float]:
    """When the host made a stream wait for another one."""
    return [
        time
        for moment, time in zip(moments, at, strict=True)
        if moment.kind != "end" and WAIT_EVENT.fullmatch(moment.span.name)
    ]


@dataclass(frozen=True)
class _Device:
    """When works were launched and ran.

    Attributes:
        start, end, launched: By work.
        quick: From launch to start where nothing else holds a work.
        stream_waits: When the host made a stream wait for another one.
    """

    start: dict[Work, float]
    end: dict[Work, float]
    launched: dict[Work, float]
    quick: float
    stream_waits: list[float]

    def hold(self, works: list[Work]) -> None:
        """Let what held each work hold it, in order of time."""
        before: dict[Stream, Work] = {}
        for work in works:
            others = [
                each
                for stream, each in before.items()
                if stream != work.stream
                and self.end[each] <= self.start[work]
                and self.launched[each] <= self.launched[work]
            ]
            holder = max(others, key=lambda each: self.end[each], default=None)
            self._hold(work, before.get(work.stream), holder)
            before[work.stream] = work

    def _hold(self, work: Work, previous: Work | None, other: Work | None) -> None:
        """What held a work: its launch, the work before it, or that of another stream."""
        began = self.start[work]
        work.after_launch = began - self.launched[work]
        launch_slack, stream_slack = work.after_launch - self.quick, float("inf")
        if previous is not None:
            work.after_stream = began - self.end[previous]
            stream_slack = work.after_stream - SHORT_GAP_US
        is_held = False
        if other is not None:
            gap = began - self.end[other]
            is_held = min(launch_slack, stream_slack) > HELD_US and gap <= HELD_US
            if is_held or self._needs(work, other):
                work.waits_for.append((other, gap if is_held else min(gap, SHORT_GAP_US)))
        if is_held or launch_slack > stream_slack:
            work.after_launch = min(work.after_launch, self.quick)
        if previous is not None and (is_held or launch_slack <= stream_slack):
            work.after_stream = min(work.after_stream, SHORT_GAP_US)

    def _needs(self, work: Work, other: Work) -> bool:
        """Whether a work waits for the last one of another stream, though that did not hold it: a
        collective for what its stream was given before, other work for a collective."""
        if COMMUNICATION.search(work.name):
            return not COMMUNICATION.search(other.name)
        return bool(COMMUNICATION.search(other.name)) and any(
            self.start[other] <= time <= self.launched[work] for time in self.stream_waits
        )


def _find_waits(moments: list[Moment], at: list[float], end: dict[Work, float]) -> None:
    """Let calls that wait end after the work that they waited for."""
    given: list[Work] = []
    last: dict[Stream, Work] = {}
    began: dict[Span, tuple[float, int, list[Work]]] = {}
    for moment, time in zip(moments, at, strict=True):
        if moment.kind == "begin":
            began[moment.span] = time, len(given), moment.launches
        for work in moment.launches:
            given.append(work)
            last[work.stream] = work
        if moment.kind != "end":
            continue
        since, count, own = began.pop(moment.span)
        if WAITS.fullmatch(moment.span.name):
            is_all = "Device" in moment.span.name
            ended = [work for work in given[max(count - 64, 0) : count] if end[work] <= time]
            works = list(last.values()) if is_all else ended
            works = [work for work in works if end[work] <= time]
        elif COPIES.fullmatch(moment.span.name) and own and end[own[-1]] <= time:
            works = own[-1:]
        else:
            continue
        if not works:
            continue
        work = max(works, key=lambda each: end[each])
        spent = time - since
        if end[work] <= since:
            moment.wait = Wait(work, min(SHORT_CALL_US, time - end[work]))
        else:
            moment.wait = Wait(work, time - end[work])
            moment.gap = min(moment.gap, SHORT_CALL_US, spent)
        is_last = last.get(work.stream) is work
        if is_last:
            moment.wait.on = None if "Device" in moment.span.name else work.stream
