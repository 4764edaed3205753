"""Programs of one process that use several devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.diagnosis import editing
from bench.diagnosis.model import Moment, Rank, Recording, Work

LAUNCH_US = 4.0


def on_several_devices(recording: Recording, count: int) -> Recording:
    """The program with the same kernels on every device: before each launch for the first one are
    those for the others. The last kernel of a step waits for all devices, and the next step begins
    on the others when it has ended."""
    [rank] = recording
    [properties] = rank.head["deviceProperties"]
    rank.head["deviceProperties"] = [properties | {"id": device} for device in range(count)]
    ids = editing.ids_after(rank)
    moments: list[Moment] = []
    for moment in rank.moments:
        if _is_kernel_launch(moment):
            for device in range(1, count):
                moments += _again(moment, device, ids)
        moments.append(moment)
    rank.moments = moments
    _wait_for_all(rank, count)
    return recording


def _is_kernel_launch(moment: Moment) -> bool:
    return bool(moment.launches) and all(map(editing.is_kernel, moment.launches))


def _again(begin: Moment, device: int, ids: Iterator[int]) -> tuple[Moment, Moment]:
    """The call that launches the same for another device."""
    number = next(ids)
    span = replace(begin.span, args=begin.span.args | {"correlation": number})
    works = [
        replace(
            work,
            stream=(device, work.stream[1]),
            waits_for=[],
            args=work.args | {"correlation": number},
        )
        for work in begin.launches
    ]
    return Moment(span, "begin", 0.5, launches=works), Moment(span, "end", LAUNCH_US)


def _wait_for_all(rank: Rank, count: int) -> None:
    joined: Work | None = None
    for first, last in editing.steps(rank):
        works = [work for moment in rank.moments[first:last] for work in moment.launches]
        by_device = [[work for work in works if work.stream[0] == n] for n in range(count)]
        if joined is not None:
            for own in by_device[1:]:
                own[0].waits_for.append((joined, 1.5))
        joined = [work for work in by_device[0] if editing.is_kernel(work)][-1]
        joined.waits_for += [(own[-1], 1.5) for own in by_device[1:]]
