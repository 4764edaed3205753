"""Random recordings of nested ranges, and their times counted moment by moment: slow, and by none
of the code it is compared with."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field

from tests.helpers import traces as t

STEPS = {"1": (0, 60), "2": (60, 130)}
"""Iterations: name → start and end in µs. They stand on a thread of their own."""
STEP_THREAD = 9
END_US = 150
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@dataclass
class Recording:
    """What was made: events, and what is known of them.

    Attributes:
        events: For :func:`tests.helpers.traces.trace`.
        ranges: Path, thread, start and end of each range.
        calls: Per correlation: paths of the ranges around, thread, start and end of the call.
        moves: Correlations whose kernels communicate.
        kernels: Correlation, start and end.
    """

    events: list[t.Event] = field(default_factory=list)
    ranges: list[tuple[tuple[str, ...], int, int, int]] = field(default_factory=list)
    calls: dict[int, tuple[list[int], int, int, int]] = field(default_factory=dict)
    moves: set[int] = field(default_factory=set)
    kernels: list[tuple[int, int, int]] = field(default_factory=list)


def recording(seed: int) -> Recording:
    """Ranges on two threads, some over the border of an iteration, with launches in them and
    beside them, whose kernels run on two streams."""
    rng = random.Random(seed)
    made = Recording()
    for name, (start, end) in STEPS.items():
        made.events.append(t.step(int(name), start, end - start, tid=STEP_THREAD))
    for thread in (1, 2):
        _fill(rng, made, thread, (0, END_US), [])
    return made


def _fill(
    rng: random.Random,
    made: Recording,
    thread: int,
    within: tuple[int, int],
    around: list[int],
) -> None:
    at, stop, depth = within[0] + 1, within[1] - 1, len(around)
    while at < stop - 2:
        length = rng.randint(2, max(2, min(70 >> depth, stop - at)))
        end = min(at + length, stop)
        if depth < 3 and end - at > 5 and rng.random() < 0.6:
            name = rng.choice("ab")
            above = made.ranges[around[-1]][0] if around else ()
            made.events.append(t.annotation(name, at, end - at, tid=thread))
            made.ranges.append(((*above, name), thread, at, end))
            _fill(rng, made, thread, (at, end), [*around, len(made.ranges) - 1])
        elif rng.random() < 0.7:
            end = min(at + 2, stop)
            number = len(made.calls) + 1
            made.events.append(t.call("cudaLaunchKernel", at, end - at, tid=thread, corr=number))
            made.calls[number] = (around, thread, at, end)
            if rng.random() < 0.3:
                made.moves.add(number)
            for _ in range(rng.randint(0, 1)):
                start, duration = at + rng.randint(1, 30), rng.randint(1, 12)
                stream = rng.choice((7, 8))
                name = ALL_REDUCE if number in made.moves else "k"
                made.events.append(t.kernel(name, start, duration, corr=number, stream=stream))
                made.kernels.append((number, start, start + duration))
        at = end + rng.randint(1, 6)


Times = dict[tuple[tuple[str, ...], str], dict[str, int]]


def times(made: Recording) -> Times:
    """Per path and iteration the times in µs; only those that are not 0."""
    cpu: dict[tuple[tuple[str, ...], str], set[int]] = defaultdict(set)
    api: dict[tuple[tuple[str, ...], str], set[int]] = defaultdict(set)
    gpu: dict[tuple[tuple[str, ...], str], set[int]] = defaultdict(set)
    moved: dict[tuple[tuple[str, ...], str], set[int]] = defaultdict(set)
    spans: dict[tuple[tuple[str, ...], str], set[int]] = defaultdict(set)
    for path, _, start, end in made.ranges:
        for name, (low, high) in STEPS.items():
            cpu[path, name] |= set(range(max(start, low), min(end, high)))
    of_call: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for around, _, start, end in made.calls.values():
        for number in around:
            for name, (low, high) in STEPS.items():
                api[made.ranges[number][0], name] |= set(range(max(start, low), min(end, high)))
    for correlation, start, end in made.kernels:
        around, _, launched, _ = made.calls[correlation]
        for name, (low, high) in STEPS.items():
            if low <= launched < high:
                for number in around:
                    gpu[made.ranges[number][0], name] |= set(range(start, end))
                    if correlation in made.moves:
                        moved[made.ranges[number][0], name] |= set(range(start, end))
                    of_call[number, name].append((start, end))
    for (number, name), work in of_call.items():
        first, last = min(s for s, _ in work), max(e for _, e in work)
        spans[made.ranges[number][0], name] |= set(range(first, last))
    found: Times = {}
    for key in {*cpu, *gpu}:
        found[key] = {
            "cpu": len(cpu[key]),
            "gpu": len(gpu[key]),
            "cpu_overhead": len(cpu[key] - api[key]),
            "gpu_idle": len(spans[key] - gpu[key]),
        } | ({"communication": len(moved[key])} if moved[key] else {})
    return {key: values for key, values in found.items() if any(values.values())}
