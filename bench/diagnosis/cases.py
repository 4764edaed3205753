"""Labelled cases: a recording with one cause or none, and what that costs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

from bench.diagnosis import bases
from bench.diagnosis.bases import Base
from bench.diagnosis.causes import Cause, causes
from bench.diagnosis.editing import copied, steps
from bench.diagnosis.model import Recording
from bench.diagnosis.replay import length

HEALTHY_SHARE = 0.2
"""So many cases have no cause."""
HIDDEN_SHARE = 0.12
"""So many cases have one of a size that may hide behind the device."""
TRIES = 8
ENOUGH = 0.85
"""A cause is as large as wanted if it costs this part of it."""
NOTHING_PCT = 1.0
"""A cause that costs less than this share of a step is none."""


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        seed: What it is made of: run and number.
        base: The recording before.
        cause: What was put into it; None for nothing.
        recording: The recording after.
        step_us: Mean length of its step: from its first moment to the end of its last, per step.
        gain_us: By how much a step is shorter without the cause.
    """

    seed: str
    base: Base
    cause: Cause | None
    recording: Recording
    step_us: float
    gain_us: float

    @property
    def gain_pct(self) -> float:
        """The true gain as share of the step."""
        return self.gain_us / self.step_us * 100

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is lost."""
        return self.gain_pct < NOTHING_PCT

    @property
    def is_expected(self) -> bool:
        """Whether a finding must name the cause."""
        return self.cause is not None and self.gain_pct >= self.cause.least_pct

    @property
    def name(self) -> str:
        """For people."""
        return self.cause.name if self.cause is not None else "healthy"


def make_cases(seed: int, count: int, only: str | None = None) -> Iterator[Callable[[], Case]]:
    """What makes the cases of a seed; each depends on the seed and its number only.

    Args:
        seed: Chooses places, sizes and shapes.
        count: How many.
        only: Name of the only cause; None for all in turn, and some without.
    """
    healthy = 0 if only else round(count * HEALTHY_SHARE)
    names = [only] if only else list(causes())
    for number in range(count):
        if number >= count - healthy:
            yield partial(_healthy_case, f"{seed}/{number}")
        else:
            yield partial(make_case, f"{seed}/{number}", causes()[names[number % len(names)]])


def _healthy_case(seed: str) -> Case:
    random = Random(seed)
    kind = random.choice(["device", "device", "host", "ranks"])
    base = base_of(kind, random)
    return Case(seed, base, None, base.recording, _step_us(base.recording), 0.0)


def make_case(seed: str, cause: Cause) -> Case:
    """The case of a cause; its size is chosen so that it costs a random share of the step, but for
    some that may be hidden."""
    random = Random(seed)
    base = base_of(cause.kind, random)
    least = 1.3 * cause.least_pct / (100.0 - cause.least_pct)
    target = random.uniform(least, max(0.5, 1.5 * least)) * _step_us(base.recording)
    is_hidden = random.random() < HIDDEN_SHARE
    amount, shape = target, random.random()
    for _ in range(1 if is_hidden else TRIES):
        recording = copied(base.recording)
        cause.put(recording, Random(shape), amount)
        without = base.recording
        if cause.put_without is not None:
            without = copied(base.recording)
            cause.put_without(without, Random(shape), amount)
        gain = _step_us(recording) - _step_us(without)
        if gain >= ENOUGH * target:
            break
        amount *= min(3.0, max(1.3, target / max(gain, 1.0)))
    return Case(seed, base, cause, recording, _step_us(recording), gain)


def base_of(kind: str, random: Random) -> Base:
    """A recording without a cause that causes of a kind can be put into."""
    if kind in ("ranks", "overlap"):
        return bases.generated(random, random.randint(3, 4))
    if kind == "matrix":
        return bases.with_matrix_units(random)
    if kind == "devices":
        return bases.on_devices(random)
    if kind == "host" or (kind in ("both", "steps") and random.random() < 0.3):
        return bases.real(random.choice(bases.HOST_SOURCES), random)
    if kind == "frames":
        return bases.with_frames(random)
    if random.random() < 0.5:
        return bases.generated(random)
    return bases.real(random.choice(bases.SOURCES), random)


def _step_us(recording: Recording) -> float:
    return length(recording) / len(steps(recording[0]))
