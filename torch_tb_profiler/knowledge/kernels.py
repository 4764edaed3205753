"""What a kernel does, told from its name by the rules of ``kernels.toml``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import polars as pl

from torch_tb_profiler.knowledge.demangling import demangled, identifiers
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class KernelRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One rule: names in which ``pattern`` is found are of this kind, unless an earlier rule hit.

    Attributes:
        name: Stable name of the rule.
        kind: A key of ``[kinds]``.
        pattern: Regular expression, searched anywhere in the name, case-sensitive.
        examples: Names this rule must take (tests check each).
        counter_examples: Names this rule must leave to others.
        tensor_core: Whether such kernels run on matrix units; None when the name does not tell.
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
        max_unknown_pct: A share of time in kernels that use Tensor Cores is a value while the time
            of kernels no rule knows is at most so much of it; above, its bounds are told alone.
        kinds: Kind → what it means.
        rules: In order.
    """

    max_unknown_pct: float
    kinds: dict[str, str]
    rules: tuple[KernelRule, ...]


@dataclass(frozen=True, slots=True)
class KernelKind:
    """What the name of a kernel tells.

    Attributes:
        kind: Family of work, a key of the ``[kinds]`` table; ``"other"`` when no rule knows it.
        tensor_core: True or False when the name tells, None when it does not.
        communication: True when it moves data between devices.
        rule: Name of the rule that hit, None when none did.
    """

    kind: str
    tensor_core: bool | None
    communication: bool
    rule: str | None


UNKNOWN_KERNEL = KernelKind("other", None, False, None)
"""The answer for a name no rule knows."""


MAX_NAME_CHARS = 4096
"""A kernel is judged by so much of its name: some patterns take time by the square of it."""

MANY_NAMES = 1000
"""From here on it pays to make the patterns of polars, which it does not keep."""

LOOK_BEHIND = re.compile(r"\(\?<!\w+\)")
"""What the linear-time patterns of polars do not know; without it more names are found."""


@once
def kernel_file() -> KernelFile:
    """The rules as they stand in the file."""
    return load("kernels.toml", KernelFile)


@once
def _compiled() -> tuple[tuple[re.Pattern[str], KernelKind], ...]:
    return tuple(
        (
            re.compile(rule.pattern),
            KernelKind(rule.kind, rule.tensor_core, rule.communication, rule.name),
        )
        for rule in kernel_file().rules
    )


def _judged(name: str) -> str:
    """The part of a name that the rules look at."""
    text = demangled(name)
    if text.startswith("_Z"):
        text = identifiers(text) or text
    return text[:MAX_NAME_CHARS]


@lru_cache(maxsize=65536)
def classify(name: str) -> KernelKind:
    """What the kernel ``name`` does, by the first rule whose pattern is found in it.

    A mangled name is judged by what it stands for.
    """
    name = _judged(name)
    for pattern, kind in _compiled():
        if pattern.search(name):
            return kind
    return UNKNOWN_KERNEL


def classify_all(names: Sequence[str]) -> list[KernelKind]:
    """:func:`classify` of each name, fifty times faster where there are thousands of them."""
    if len(names) < MANY_NAMES:
        return [classify(name) for name in names]
    kinds = [UNKNOWN_KERNEL] * len(names)
    heads = [_judged(name) for name in names]
    left = pl.DataFrame({"name": heads}, {"name": pl.String}).with_row_index("at")
    for pattern, kind in _compiled():
        hit = left["name"].str.contains(LOOK_BEHIND.sub("", pattern.pattern))
        if LOOK_BEHIND.search(pattern.pattern):
            rows = hit.arg_true()
            sure = [pattern.search(name) is not None for name in left["name"].gather(rows)]
            hit = hit.scatter(rows, sure)
        for at in left["at"].filter(hit):
            kinds[at] = kind
        left = left.filter(~hit)
    return kinds
