"""What must be equal among the ranks of a collective, and limits of the analysis of hangs."""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

Side = Literal["input", "output"]


class EqualityRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which sides of a call must have equal sizes and types on all ranks.

    Attributes:
        name: Canonical name of the collective.
        equal: Those sides; of collectives without a rule both.
        reason: Why not both.
    """

    name: str
    equal: tuple[Side, ...]
    reason: str


class DumpTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a dump was written.

    Attributes:
        after_timeout_s: So long after the timeout the time of a file counts.
        default_timeout_s: The timeout where no call says it.
        least_wait_s: Shorter waits are not mentioned.
    """

    after_timeout_s: float
    default_timeout_s: float
    least_wait_s: float


class ShownLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tables and sentences show.

    Attributes:
        shown_before, shown_after: Collectives around the first that hangs.
        named_ranks: Ranks that a sentence names.
    """

    shown_before: int
    shown_after: int
    named_ranks: int


class HangFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``hang.toml``."""

    rules: tuple[EqualityRule, ...]
    times: DumpTimes
    limits: ShownLimits


@once
def knowledge() -> HangFile:
    """The rules."""
    return load("hang.toml", HangFile)


def equal_sides(collective: str | None) -> tuple[Side, ...]:
    """The sides of a collective that must be equal on all ranks."""
    rule = next((each for each in knowledge().rules if each.name == collective), None)
    return ("input", "output") if rule is None else rule.equal
