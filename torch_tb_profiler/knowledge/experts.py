"""What has to do with a mixture of experts, by name: kernels, operators, ranges.

The rules are in ``experts.toml``; ``docs/views-experts.md`` explains their use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge import kernels
from torch_tb_profiler.knowledge.files import load, load_patterns
from torch_tb_profiler.knowledge.patterns import RulePattern
from torch_tb_profiler.once import once

Subject = Literal["kernel", "operator", "range", "tokens"]
ExpertStage = Literal[
    "gating", "permutation", "dispatch", "combine", "exchange", "notify", "products", "layer",
    "expert", "no",
]  # fmt: skip
RowSource = Literal["grouped", "first", "chosen"]

ROUTING_KIND = "experts"
"""The kind of kernels (``kernels.toml``) that route tokens."""

MAX_NAME_CHARS = 1000
"""Only this many characters of the name of a range are matched."""


class ExpertRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One rule; the head of ``experts.toml`` explains the fields.

    Attributes:
        name: Stable name of the rule.
        on: What kind of name it is for.
        stage: What such names are.
        pattern: Regular expression, searched anywhere in the name.
        examples: Names that must match this rule (tests check each).
        counter_examples: Names that must not match this rule.
        rows: Of operators, where the rows of their products are.
        chosen: With ``rows = "chosen"``, the number of the input with the chosen experts.
        sizes: Of operators, whether a list of integers among the inputs has the rows per expert.
        number: Regular expression whose first group is a number in the name.
    """

    name: str
    on: Subject
    stage: ExpertStage
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()
    rows: RowSource | None = None
    chosen: int | None = None
    sizes: bool = False
    number: str | None = None


class ExpertFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``experts.toml``.

    Attributes:
        steady_pct: A rank is overloaded steadily from this share of the passes on.
        max_passes: Passes of a step beyond it are joined into the last.
        rules: The rules, in order.
    """

    steady_pct: float
    max_passes: int
    rules: tuple[ExpertRule, ...]


@once
def expert_file() -> ExpertFile:
    """The entries of the file."""
    return load("experts.toml", ExpertFile)


@once
def _compiled() -> dict[Subject, list[tuple[RulePattern, ExpertRule]]]:
    patterns = load_patterns("experts.toml")
    by_subject: dict[Subject, list[tuple[RulePattern, ExpertRule]]] = {}
    for rule in expert_file().rules:
        by_subject.setdefault(rule.on, []).append((patterns[rule.pattern], rule))
    return by_subject


@lru_cache(maxsize=65536)
def expert_rule(subject: Subject, name: str) -> ExpertRule | None:
    """The first rule for a subject that matches a name; None for none, and for a rule that says
    that the name is no such thing."""
    text = kernels.searched_text(name) if subject == "kernel" else name[:MAX_NAME_CHARS]
    for pattern, rule in _compiled()[subject]:
        if pattern.search(text):
            return None if rule.stage == "no" else rule
    return None


@lru_cache(maxsize=65536)
def kernel_stage(name: str) -> ExpertStage | None:
    """What a kernel has to do with experts, by its name; None for nothing."""
    rule = expert_rule("kernel", name)
    if rule is not None:
        return rule.stage
    return "permutation" if kernels.classify(name).kind == ROUTING_KIND else None


def number_in(rule: ExpertRule, name: str) -> int | None:
    """The number that a rule reads from a name; None where there is none."""
    match = re.search(rule.number, name[:MAX_NAME_CHARS]) if rule.number else None
    return int(match[1]) if match and len(match[1]) < MAX_DIGITS else None


MAX_DIGITS = 12
"""Longer numbers are no counts."""


def tokens_in(name: str) -> int | None:
    """How many tokens the name of a range says; None where it says nothing."""
    rule = expert_rule("tokens", name)
    return None if rule is None else number_in(rule, name)
