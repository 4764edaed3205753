"""The stages of a pass through a layer of experts, and their codes in arrays."""

from __future__ import annotations

from enum import IntEnum


class Stage(IntEnum):
    """What a kernel, a collective or an operator does in a layer of experts."""

    GATING = 0
    PERMUTATION = 1
    DISPATCH = 2
    COMBINE = 3
    EXCHANGE = 4
    """A dispatch or a combine: which one is not known."""
    NOTIFY = 5
    """Counts ahead of the dispatch or combine that follows on the stream."""
    PRODUCTS = 6
    OTHER = 7
    """Work inside a range of a layer of experts that no rule names."""
    UNDECIDED = 8
    """An all_to_all of which neither its group nor a range says whether it is about experts."""


NONE = -1
"""The code of what has nothing to do with experts."""

TITLES = {
    Stage.GATING: "gating",
    Stage.PERMUTATION: "permutation",
    Stage.DISPATCH: "dispatch",
    Stage.COMBINE: "combine",
    Stage.EXCHANGE: "dispatch or combine",
    Stage.NOTIFY: "dispatch or combine",
    Stage.PRODUCTS: "expert GEMMs",
    Stage.OTHER: "not recognized",
    Stage.UNDECIDED: "all_to_all of an unknown group",
}
"""The stages as users read them."""

_CODES = {stage.name.lower(): int(stage) for stage in Stage}


def code(name: str | None) -> int:
    """The code of a stage by its name in ``knowledge/experts.toml``; :data:`NONE` for others."""
    return _CODES.get(name or "", NONE)
