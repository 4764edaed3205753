"""Operators that can use matrix units, by their names: ``operators.toml``."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load, load_patterns
from torch_tb_profiler.knowledge.patterns import RulePattern
from torch_tb_profiler.once import once


class OperatorRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One rule: operators whose whole name matches ``pattern``, unless an earlier rule matches.

    Attributes:
        name: Stable name of the rule.
        pattern: Regular expression that must match the whole name.
        examples: Names that must match this rule (tests check each).
        counter_examples: Names that must not match this rule.
        tensor_core_eligible: Whether a fast path on matrix units exists for some input types; None
            if the name does not say.
    """

    name: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()
    tensor_core_eligible: bool | None = None


class OperatorFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``operators.toml``.

    Attributes:
        wrapper_prefixes: Prefixes of the autograd engine before a node's name; ignored.
        rules: The rules, in order.
    """

    wrapper_prefixes: tuple[str, ...]
    rules: tuple[OperatorRule, ...]


MAX_NAME_CHARS = 4096
"""Only this many characters of a name are matched, as some patterns take quadratic time."""


@once
def operator_file() -> OperatorFile:
    """The rules of the file."""
    return load("operators.toml", OperatorFile)


@once
def _compiled() -> tuple[tuple[RulePattern, OperatorRule], ...]:
    patterns = load_patterns("operators.toml")
    return tuple((patterns[rule.pattern], rule) for rule in operator_file().rules)


@lru_cache(maxsize=65536)
def matching_rule(name: str) -> OperatorRule | None:
    """The rule that matches an operator; None for none."""
    for prefix in operator_file().wrapper_prefixes:
        name = name.removeprefix(prefix)
    name = name[:MAX_NAME_CHARS]
    for pattern, rule in _compiled():
        if pattern.fullmatch(name):
            return rule
    return None


def tensor_core_eligible(name: str) -> bool | None:
    """Whether the operator ``name`` could use matrix units (with the right types and shapes).

    True for matrix products, convolutions and attention, forward and backward; False for operators
    that never do (elementwise, copies, reductions); None for custom and compiled operators.
    """
    rule = matching_rule(name)
    return None if rule is None else rule.tensor_core_eligible
