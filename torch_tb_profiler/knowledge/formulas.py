"""The rules that count the FLOPs and bytes of operators: ``formulas.toml``.

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
"""Only this many characters of a name are matched."""

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
"""All kinds of work, in the order of tables."""

MODEL_KINDS = frozenset({"matrix", "convolution", "attention"})
"""The kinds that count as model FLOPs (``docs/flops.md#model-flops``)."""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One call with its figures, counted by hand; tests check each.

    Attributes:
        operator: Name of the operator.
        shapes: Text of its input shapes as recorded.
        types: Text of its input types; None if they are not recorded.
        concrete: Text of its concrete inputs, likewise.
        flops: Its FLOPs; None if they are unknown.
        bytes: Bytes it reads and writes, likewise.
        uncomputed: The part of ``flops`` that no kernel needs to compute.
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
        operators: Names of the operators; with a ``_`` at the end, the in-place form is meant too.
        pattern: Regular expression of further whole names.
        kind: One of :data:`KINDS`.
        rule: Name of a function in ``analysis/efficiency/work/rules.py``.
        arguments: Arguments of the rule for these operators: positions of operands, operations per
            element.
        source: The definition of the operator or of its count.
        counts: What is counted, in one short sentence.
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
    """The formulas of the file."""
    return load("formulas.toml", FormulaFile)


def formulas() -> tuple[Formula, ...]:
    """All formulas; ``CallWork.formula`` is an index into them."""
    return formula_file().formulas


@once
def _index_by_name() -> dict[str, int]:
    return {name: index for index, one in enumerate(formulas()) for name in one.operators}


@once
def _patterns() -> tuple[tuple[re.Pattern[str], int], ...]:
    """The patterns with the indices of their formulas, in the order of the file."""
    every = enumerate(formulas())
    return tuple(
        (re.compile(one.pattern), index) for index, one in every if one.pattern is not None
    )


def formula_index(operator: str) -> int:
    """The index of the formula of an operator in :func:`formulas`; -1 for none."""
    indices = _index_by_name()
    index = indices.get(operator)
    if index is None and operator.endswith("_"):
        index = indices.get(operator[:-1])
    if index is not None:
        return index
    name = operator[:MAX_NAME_CHARS]
    return next((index for pattern, index in _patterns() if pattern.fullmatch(name)), -1)


def is_inplace(operator: str) -> bool:
    """Whether an operator writes into its first input: ``aten::add_``."""
    return operator.endswith("_") and not operator.endswith("__")


def scalar_type(number: str) -> str | None:
    """The element type of a number in PyTorch, ``"bfloat16"`` for ``"15"``."""
    return formula_file().scalar_types.get(number)
