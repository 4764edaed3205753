"""How much work an operator is: which rule counts its FLOPs and bytes, told by ``formulas.toml``.

Definitions: ``docs/flops.md``.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

Argument: TypeAlias = bool | int | float | str | tuple[int, ...]

MAX_NAME_CHARS = 512
"""An operator is looked for by so much of its name."""

KINDS = (
    "matrix",
    "convolution",
    "attention",
    "normalization",
    "reduction",
    "elementwise",
    "pooling",
    "loss",
    "optimizer",
    "collective",
    "compiled",
    "embedding",
    "indexing",
    "copy",
    "fill",
    "view",
)
"""All kinds of work there are, in the order in which tables list them."""

MODEL_KINDS = frozenset({"matrix", "convolution", "attention"})
"""What counts as model FLOPs (``docs/flops.md#model-flops``)."""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One call with its figures, counted by hand; tests check each.

    Attributes:
        operator: Its name.
        shapes: Text of its input shapes as a trace has it.
        types: Text of its input types, None where none are recorded.
        concrete: Text of its concrete inputs, likewise.
        flops: Its FLOPs; None where they are unknown.
        bytes: Bytes it reads and writes, likewise.
        uncomputed: FLOPs of ``flops`` that no kernel needs to compute.
    """

    operator: str
    shapes: str
    types: str | None = None
    concrete: str | None = None
    flops: int | None = None
    bytes: int | None = None
    uncomputed: int = 0


class Formula(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """How the work of some operators is counted.

    Attributes:
        name: Stable name.
        operators: Names of the operators; one with ``_`` behind it is the same one in place.
        pattern: Regular expression of more names, which must match the whole.
        kind: One of :data:`KINDS`.
        rule: Name of a function in ``analysis/efficiency/work/rules.py``.
        arguments: What the rule needs to know of these operators: where their operands stand, how
            many operations an element takes.
        source: Where the definition of the operator or of its count stands.
        counts: What is counted, one short sentence for people.
        examples: Calls counted by hand.
    """

    name: str
    operators: tuple[str, ...]
    kind: str
    rule: str
    source: str
    counts: str
    examples: tuple[Example, ...]
    arguments: dict[str, Argument] = {}
    pattern: str | None = None


class FormulaFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``formulas.toml``.

    Attributes:
        scalar_types: Element type by its number in PyTorch (``c10::ScalarType``).
        formulas: All formulas.
    """

    scalar_types: dict[str, str]
    formulas: tuple[Formula, ...]


@once
def formula_file() -> FormulaFile:
    """The formulas as they stand in the file."""
    return load("formulas.toml", FormulaFile)


def formulas() -> tuple[Formula, ...]:
    """All formulas; their places are the numbers in ``CallWork.formula``."""
    return formula_file().formulas


@once
def _place_of_name() -> dict[str, int]:
    return {name: place for place, one in enumerate(formulas()) for name in one.operators}


@once
def _patterns() -> tuple[tuple[re.Pattern[str], int], ...]:
    """The patterns and the places of their formulas, in the order of the file."""
    every = enumerate(formulas())
    return tuple((re.compile(one.pattern), at) for at, one in every if one.pattern is not None)


def formula_index(operator: str) -> int:
    """The place of the formula of an operator in :func:`formulas`, -1 for none."""
    places = _place_of_name()
    place = places.get(operator)
    if place is None and operator.endswith("_"):
        place = places.get(operator[:-1])
    if place is not None:
        return place
    name = operator[:MAX_NAME_CHARS]
    return next((at for pattern, at in _patterns() if pattern.fullmatch(name)), -1)


def is_in_place(operator: str) -> bool:
    """Whether an operator writes into its first input: ``aten::add_``."""
    return operator.endswith("_") and not operator.endswith("__")


def scalar_type(number: str) -> str | None:
    """The element type of a number in PyTorch, ``"bfloat16"`` for ``"15"``."""
    return formula_file().scalar_types.get(number)
