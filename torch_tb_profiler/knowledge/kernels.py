"""Classification of kernels by their names, with the rules of ``kernels.toml``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.demangling import demangled, identifiers
from torch_tb_profiler.knowledge.files import load, load_patterns
from torch_tb_profiler.knowledge.many_names import MANY_NAMES, NO_RULE, first_rules
from torch_tb_profiler.knowledge.patterns import RulePattern
from torch_tb_profiler.once import once


class KernelRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One rule: names that contain ``pattern`` are of this kind, unless an earlier rule matches.

    Attributes:
        name: Stable name of the rule.
        kind: A key of ``[kinds]``.
        pattern: Regular expression, searched anywhere in the name, case-sensitive.
        examples: Names that must match this rule (tests check each).
        counter_examples: Names that must not match this rule.
        tensor_core: Whether such kernels run on matrix units; None if the name does not say.
        communication: Whether they move data between devices or wait for other devices.
    """

    name: str
    kind: str
    pattern: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()
    tensor_core: bool | None = None
    communication: bool = False


class KernelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``kernels.toml``.

    Attributes:
        max_unknown_pct: The share of time in Tensor Core kernels is a value if unknown kernels take
            at most this share of it; above that, only its bounds are reported.
        kinds: Kind → its meaning.
        spoken: Kind → what sentences call its work, where that is not its key.
        rules: The rules, in order.
    """

    max_unknown_pct: float
    kinds: dict[str, str]
    spoken: dict[str, str]
    rules: tuple[KernelRule, ...]


class KernelKind(msgspec.Struct, frozen=True):
    """The classification of a kernel.

    Attributes:
        kind: Family of work, a key of the ``[kinds]`` table; ``"other"`` if no rule matches.
        tensor_core: Whether it runs on matrix units; None if the name does not say.
        communication: Whether it moves data between devices.
        rule: Name of the rule that matches; None for none.
        by_user: Whether it is a rule of the user (``user_rules``).
        dtype: Element type of the inputs where the rule states it.
    """

    kind: str
    tensor_core: bool | None
    communication: bool
    rule: str | None
    by_user: bool = False
    dtype: str | None = None


COMMUNICATION = "communication"
OTHER = "other"
"""The kinds of kernels that move data between devices, and of those whose work is unknown."""

UNKNOWN_KERNEL = KernelKind(OTHER, None, False, None)
"""The classification of a name that no rule matches."""


MAX_NAME_CHARS = 4096
"""Only this many characters of a name are searched, as some patterns take quadratic time."""


@once
def kernel_file() -> KernelFile:
    """The rules of the file."""
    return load("kernels.toml", KernelFile)


def spoken_kind(kind: str) -> str | None:
    """What sentences call the work of a kind of kernels or operators; None for :data:`OTHER`."""
    return None if kind == OTHER else kernel_file().spoken.get(kind, kind.replace("_", " "))


def uses_tensor_cores(kind: str) -> bool | None:
    """Whether kernels of a kind run on matrix units, where all rules of the kind agree; else None.

    ``other`` is no kind of work: nothing follows from it.
    """
    verdicts = {rule.tensor_core for rule in kernel_file().rules if rule.kind == kind}
    return verdicts.pop() if len(verdicts) == 1 and kind != OTHER else None


@once
def _compiled() -> tuple[tuple[RulePattern, KernelKind], ...]:
    patterns = load_patterns("kernels.toml")
    return tuple(
        (
            patterns[rule.pattern],
            KernelKind(rule.kind, rule.tensor_core, rule.communication, rule.name),
        )
        for rule in kernel_file().rules
    )


def searched_text(name: str) -> str:
    """The text of a name that the rules search."""
    text = demangled(name)
    if text.startswith("_Z"):
        text = identifiers(text) or text
    return text[:MAX_NAME_CHARS]


@lru_cache(maxsize=65536)
def classify(name: str) -> KernelKind:
    """Classify the kernel ``name`` by the first rule whose pattern it contains.

    A mangled name is demangled first.
    """
    name = searched_text(name)
    for pattern, kind in _compiled():
        if pattern.search(name):
            return kind
    return UNKNOWN_KERNEL


def classify_all(names: Sequence[str]) -> list[KernelKind]:
    """:func:`classify` of each name, fifty times faster where there are thousands of them."""
    if len(names) < MANY_NAMES:
        return [classify(name) for name in names]
    patterns, kinds = zip(*_compiled(), strict=True)
    rules = first_rules(patterns, [searched_text(name) for name in names], whole=False)
    return [UNKNOWN_KERNEL if rule == NO_RULE else kinds[rule] for rule in rules]
