"""The simulator: when everything of a recording happens.

The host does its moments in order. Device work starts when it is launched, its stream is free and
what it waits for has ended. Calls that wait end when the device has caught up, so what is hidden
behind a queue of work costs nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Generator
from dataclasses import dataclass, field

from bench.diagnosis.model import Key, Moment, Rank, Recording, Stream, Wait, Work

QUEUE = 1024
"""So many launches may wait on a device; the next one waits on the host."""

Step = Generator[Key, float, None]


@dataclass
class Times:
    """When the moments of a rank were, and when its work ran."""

    moments: dict[Moment, float] = field(default_factory=dict)
    works: dict[Work, tuple[float, float]] = field(default_factory=dict)

    @property
    def end(self) -> float:
        """When the last of all ended, host or device."""
        last = max(self.moments.values(), default=0.0)
        return max([last, *(end for _, end in self.works.values())])


@dataclass
class Meeting:
    """A collective: how many take part, when each started it, and how long it takes then."""

    size: int
    us: float
    starts: list[float] = field(default_factory=list)

    @property
    def end(self) -> float | None:
        """When it ends; None until all have started."""
        return max(self.starts) + self.us if len(self.starts) == self.size else None


def replay(recording: Recording) -> list[Times]:
    """The times of every rank; all start at 0.

    Raises:
        RuntimeError: ranks wait for each other in a circle.
    """
    meetings = _meetings(recording)
    times = [Times() for _ in recording]
    running = [
        _Machine(rank, each, meetings).run() for rank, each in zip(recording, times, strict=True)
    ]
    stopped: dict[int, Key | None] = dict.fromkeys(range(len(running)))
    answers: dict[int, float | None] = dict.fromkeys(range(len(running)))
    while stopped:
        has_moved = False
        for number, key in list(stopped.items()):
            if key is not None and (end := meetings[key].end) is None:
                continue
            answers[number] = None if key is None else end
            has_moved = True
            try:
                stopped[number] = running[number].send(answers[number])  # type: ignore[arg-type]
            except StopIteration:
                del stopped[number]
        if not has_moved:
            raise RuntimeError(f"ranks wait for each other: {sorted(map(str, stopped.values()))}")
    return times


def length(recording: Recording) -> float:
    """From the first moment to the end of the last, of all ranks, µs."""
    return max(times.end for times in replay(recording))


def _meetings(recording: Recording) -> dict[Key, Meeting]:
    meetings: dict[Key, Meeting] = {}
    for rank in recording:
        for work in rank.works:
            if work.collective is not None:
                meeting = meetings.setdefault(work.collective, Meeting(0, work.us))
                meeting.size += 1
                meeting.us = min(meeting.us, work.us)
    return meetings


class _Machine:
    """One host and its devices."""

    def __init__(self, rank: Rank, times: Times, meetings: dict[Key, Meeting]) -> None:
        self.rank, self.times, self.meetings = rank, times, meetings
        self.last: dict[Stream, Work] = {}
        self.queue: dict[int, deque[Work]] = defaultdict(deque)
        self.started: dict[Work, float] = {}

    def run(self) -> Step:
        now = 0.0
        for moment in self.rank.moments:
            now += moment.gap
            if moment.wait is not None:
                now = max(now, (yield from self._caught_up(moment.wait)))
            self.times.moments[moment] = now
            if moment.launches:  # inside the call that launches
                now = max(now, (yield from self._admitted(moment.launches[0].stream[0])))
            for work in moment.launches:
                yield from self._launch(work, now)
        for work in list(self.started):
            yield from self._end(work)

    def _caught_up(self, wait: Wait) -> Generator[Key, float, float]:
        if isinstance(wait.on, Work):
            works = [wait.on]
        elif wait.on is None:
            works = list(self.last.values())
        else:
            works = [self.last[wait.on]] if wait.on in self.last else []
        now = 0.0
        for work in works:
            now = max(now, (yield from self._end(work)) + wait.us)
        return now

    def _admitted(self, device: int) -> Generator[Key, float, float]:
        queue = self.queue[device]
        return (yield from self._end(queue.popleft())) if len(queue) >= QUEUE else 0.0

    def _launch(self, work: Work, now: float) -> Step:
        start = now + work.after_launch
        if (before := self.last.get(work.stream)) is not None:
            start = max(start, (yield from self._end(before)) + work.after_stream)
        for other, after in work.waits_for:
            start = max(start, (yield from self._end(other)) + after)
        self.last[work.stream] = work
        self.queue[work.stream[0]].append(work)
        self.started[work] = start
        if work.collective is None:
            self.times.works[work] = (start, start + work.us)
        else:
            self.meetings[work.collective].starts.append(start)

    def _end(self, work: Work) -> Generator[Key, float, float]:
        known = self.times.works.get(work)
        if known is not None:
            return known[1]
        assert work.collective is not None
        end = yield work.collective
        self.times.works[work] = (self.started[work], end)
        return end
