"""Types of operators by their names: ``operator_types.toml``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load, load_patterns
from torch_tb_profiler.knowledge.many_names import MANY_NAMES, NO_RULE, first_rules
from torch_tb_profiler.knowledge.patterns import RulePattern
from torch_tb_profiler.once import once

TYPES = (
    "convolution",
    "matrix_product",
    "attention",
    "normalization",
    "activation",
    "pooling",
    "embedding",
    "reduction",
    "elementwise",
    "copy",
    "optimizer",
    "communication",
    "random",
    "indexing",
    "loss",
    "other",
)
"""All types, in the default order of tables."""


class TypeRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One rule: operators whose whole simplified name matches, unless an earlier rule matches.

    Attributes:
        name: Stable name of the rule.
        type: Their type, one of :data:`TYPES`.
        pattern: Regular expression that must match the whole simplified name.
        examples: Names that must match this rule (tests check each).
        counter_examples: Names that must not match this rule.
    """

    name: str
    type: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()


class TypeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``operator_types.toml``.

    Attributes:
        wrapper_prefixes: Prefixes of a name that do not matter for its type.
        plain_namespaces: Namespaces whose names mean the same without them.
        rules: The rules, in order.
    """

    wrapper_prefixes: tuple[str, ...]
    plain_namespaces: tuple[str, ...]
    rules: tuple[TypeRule, ...]


MAX_NAME_CHARS = 512
"""Only this many characters of a name are matched."""

_GRADIENT = re.compile(
    r"(\w+?)(?:Grad(?:NodeFinal|Node)|CompiledBackward|Backward)[0-9]*(?:<.*)?>?"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLASS = re.compile(r"_*[a-z]?[A-Z]\w*")
_ENDING = re.compile(r"(?: dygraph| infer_meta| compute)?(?:\[[^\[\]]*\])?$")
_FUNCTION = re.compile(r"(?<=[a-z0-9])(?:_function|_func|_fn)$")
"""Suffixes of classes of ``torch.autograd.Function``."""

_DERIVED = re.compile(r"_(?:double_backward|backward(?:_data)?|(?<!zero_)grad|jvp)")
"""Suffixes of backward operators after the name of their forward operator."""


@once
def type_file() -> TypeFile:
    """The rules of the file."""
    return load("operator_types.toml", TypeFile)


@once
def _compiled() -> tuple[tuple[RulePattern, TypeRule], ...]:
    patterns = load_patterns("operator_types.toml")
    return tuple((patterns[rule.pattern], rule) for rule in type_file().rules)


def simplify(name: str) -> str:
    """Simplify ``name`` for the rules: lower case with underscores, without wrappers, overload,
    in-place underscore and the affixes of gradients."""
    name = name[:MAX_NAME_CHARS]
    for prefix in type_file().wrapper_prefixes:
        name = name.removeprefix(prefix)
    name = _ENDING.sub("", name)
    for namespace in type_file().plain_namespaces:
        if name.startswith(namespace):
            name = name[len(namespace) :].partition(".")[0].lstrip("_")
    gradient = _GRADIENT.fullmatch(name)
    if gradient is not None:
        name = gradient.group(1)
    if _CLASS.fullmatch(name):
        name = _FUNCTION.sub("", _HUMP.sub("_", name.lstrip("_")).lower())
    elif name[:1].isupper():
        name = _HUMP.sub("_", name)
    bare = name.lower().rstrip("_>") or name
    return bare if bare.startswith("triton_") else _DERIVED.sub("", bare) or bare


@lru_cache(maxsize=65536)
def matching_type_rule(name: str) -> TypeRule | None:
    """The rule that matches an operator; None for none."""
    plain = simplify(name)
    for pattern, rule in _compiled():
        if pattern.fullmatch(plain):
            return rule
    return None


def operator_type(name: str) -> str | None:
    """The type of the operator ``name``, one of :data:`TYPES`; None for unknown operators (custom
    operators, regions of compiled code)."""
    rule = matching_type_rule(name)
    return None if rule is None else rule.type


def operator_types(names: Sequence[str]) -> list[str | None]:
    """:func:`operator_type` of each name, ten times faster where there are thousands of them."""
    if len(names) < MANY_NAMES:
        return [operator_type(name) for name in names]
    patterns, rules = zip(*_compiled(), strict=True)
    matching = first_rules(patterns, [simplify(name) for name in names], whole=True)
    return [None if rule == NO_RULE else rules[rule].type for rule in matching]
