"""What tells of which kind a block of memory is, and what to do about it: ``memory.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Operators that take weights, and the places of those among their arguments.

    Attributes:
        arguments: Places from 0.
        operators: Their names.
        is_table: Whether they look rows of the weight up.
    """

    arguments: tuple[int, ...]
    operators: tuple[str, ...]
    is_table: bool = False


class Operators(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operators by name."""

    operators: tuple[str, ...]


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Over how many starts of a forward pass a block lives that was not made for one step."""

    least_passes: int


class Advice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """From which peak and shares of it on something is said, and what, by category."""

    least_bytes: int
    least_share_pct: float
    least_fragmentation_pct: float
    texts: dict[str, str]


class Growth(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """When memory that grows from pass to pass is said to leak."""

    least_passes: int
    least_share_pct: float


class Optimizers(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Classes of optimizers, and how many tensors as large as a parameter they keep of each.

    Attributes:
        states: How many.
        names: Names of the classes.
        shown_by: Operators any of which in the step shows that; empty if it is always so.
    """

    states: int
    names: tuple[str, ...]
    shown_by: tuple[str, ...] = ()


class MemoryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``memory.toml``."""

    weights: tuple[Weights, ...]
    accumulation: Operators
    bringing: Operators
    held: Held
    advice: Advice
    growth: Growth
    optimizers: tuple[Optimizers, ...]


@once
def memory_file() -> MemoryFile:
    """The knowledge as it stands in the file."""
    return load("memory.toml", MemoryFile)


@once
def weight_positions() -> dict[str, tuple[int, ...]]:
    """Per operator the places of its weights; of accumulations of gradients their only input."""
    places = {name: entry.arguments for entry in memory_file().weights for name in entry.operators}
    return places | dict.fromkeys(memory_file().accumulation.operators, (0,))


@once
def embeddings() -> frozenset[str]:
    """Operators that look rows of a weight up."""
    return frozenset(
        name for each in memory_file().weights if each.is_table for name in each.operators
    )


@once
def optimizers() -> dict[str, Optimizers]:
    """Per range of an optimizer's step what is known of it."""
    entries = memory_file().optimizers
    return {f"Optimizer.step#{name}.step": each for each in entries for name in each.names}
