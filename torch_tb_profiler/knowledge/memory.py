"""Categories of memory blocks, and advice about them: ``memory.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

BEFORE_RECORDING = "<allocated before the recording>"
"""What memory is called whose allocation is older than the recording."""


class WeightOperators(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Operators with weights, and the positions of the weights among their arguments.

    Attributes:
        arguments: Positions, from 0.
        operators: Names of the operators.
        is_table: Whether they look up rows of the weight.
    """

    arguments: tuple[int, ...]
    operators: tuple[str, ...]
    is_table: bool = False


class OperatorList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operators by name."""

    operators: tuple[str, ...]


class HeldThreshold(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The number of starts of forward passes a block outlives if it is not made for one step."""

    least_passes: int


class MemoryAdvice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Thresholds of the advice about memory peaks, and its texts by category.

    Attributes:
        earlier: What memory from before the recording usually is in training, in a server and in
            another program; ``{usually}`` of the text ``earlier``.
    """

    least_bytes: int
    least_share_pct: float
    least_fragmentation_pct: float
    texts: dict[str, str]
    earlier: dict[str, str]


class LeakThresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Thresholds for reporting memory that grows from pass to pass as a leak."""

    least_passes: int
    least_share_pct: float


class OptimizerStates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Classes of optimizers, and the number of states per parameter, each as large as it.

    Attributes:
        states: Number of states.
        names: Names of the classes.
        shown_by: Operators any of which in the step proves that number; empty if it is fixed.
    """

    states: int
    names: tuple[str, ...]
    shown_by: tuple[str, ...] = ()


class MemoryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``memory.toml``."""

    weights: tuple[WeightOperators, ...]
    accumulation: OperatorList
    bringing: OperatorList
    held: HeldThreshold
    advice: MemoryAdvice
    growth: LeakThresholds
    optimizers: tuple[OptimizerStates, ...]


@once
def memory_file() -> MemoryFile:
    """The entries of the file."""
    return load("memory.toml", MemoryFile)


@once
def weight_positions() -> dict[str, tuple[int, ...]]:
    """Operator → positions of its weights; for accumulations of gradients their only input."""
    positions = {
        name: entry.arguments for entry in memory_file().weights for name in entry.operators
    }
    return positions | dict.fromkeys(memory_file().accumulation.operators, (0,))


@once
def embeddings() -> frozenset[str]:
    """Operators that look up rows of a weight."""
    return frozenset(
        name for each in memory_file().weights if each.is_table for name in each.operators
    )


@once
def optimizers() -> dict[str, OptimizerStates]:
    """Name of the range of an optimizer's step → its states."""
    entries = memory_file().optimizers
    return {f"Optimizer.step#{name}.step": each for each in entries for name in each.names}
