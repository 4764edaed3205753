"""Why a rank is slow: names of pauses, thresholds and texts of ``rank_causes.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

MAX_NAME_CHARS = 300
"""Longer names are of generated code, not of a pause."""


class PauseRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Names of one kind of pause; the head of the file explains the fields."""

    kind: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]


class CauseLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From when on a difference is a cause; the file explains each."""

    least_cost_pct: float
    deviations: float
    mean_deviations: float
    least_excess_pct: float
    least_step_excess_pct: float
    slower_pct: float
    shared_pct: float
    least_alike_pct: float
    many_ranks: int
    many_alike_pct: float
    link_slower_pct: float
    least_link_pct: float
    least_agreement: float
    stage_pct: float
    late_stage_times: float
    late_stage_pct: float
    late_stage_others: int
    late_end_pct: float
    few_steps: int
    few_steps_cost_pct: float
    steady_pct: float
    experts_pct: float
    one_gap_pct: float


class FewStepsText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a sentence adds where one step, or few, are compared."""

    one: str
    several: str


class CauseText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of a cause.

    Attributes:
        cause: Which one.
        variant: Which form of it.
        title: Its name.
        text: A sentence with its figures.
        short: The cause as a clause after "because".
    """

    cause: str
    variant: str
    title: str
    text: str
    short: str


class RankCausesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``rank_causes.toml``."""

    pauses: tuple[PauseRule, ...]
    limits: CauseLimits
    few_steps: FewStepsText
    texts: tuple[CauseText, ...]


@once
def rank_causes_file() -> RankCausesFile:
    """The entries of the file."""
    return load("rank_causes.toml", RankCausesFile)


@once
def _checkpoints() -> re.Pattern[str]:
    rules = rank_causes_file().pauses
    return re.compile("|".join(f"(?:{rule.pattern})" for rule in rules), re.IGNORECASE)


@lru_cache(maxsize=65536)
def is_checkpoint(name: str) -> bool:
    """Whether a range or a Python frame of this name writes a checkpoint."""
    return len(name) <= MAX_NAME_CHARS and _checkpoints().fullmatch(name) is not None


def few_steps_text(steps: int) -> str | None:
    """What a cause in so many steps rests on, to follow a clause in parentheses; None where they
    are enough."""
    file = rank_causes_file()
    if steps > file.limits.few_steps:
        return None
    return file.few_steps.one if steps == 1 else file.few_steps.several.format(count=steps)


def least_cost_pct(steps: int, *, is_certain: bool) -> float:
    """From when on a cause is worth a search, in percent of the step.

    Args:
        steps: How many are compared.
        is_certain: Whether more than one moment shows it: most kernels, or a name.
    """
    limits = rank_causes_file().limits
    if is_certain or steps > limits.few_steps:
        return limits.least_cost_pct
    return max(limits.least_cost_pct, limits.few_steps_cost_pct / steps)


@once
def _texts() -> dict[tuple[str, str], CauseText]:
    return {(each.cause, each.variant): each for each in rank_causes_file().texts}


def cause_text(cause: str, variant: str) -> CauseText:
    """The words of a cause in one of its forms.

    Raises:
        KeyError: there is no such form.
    """
    return _texts()[cause, variant]
