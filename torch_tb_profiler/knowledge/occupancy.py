"""How many blocks of a launch an NVIDIA multiprocessor holds at once, and what keeps it from more.

By the rules of NVIDIA's occupancy calculator; figures and sources in ``occupancy.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

REGISTERS = "registers"
SHARED_MEMORY = "shared memory"
BLOCK_SIZE = "block size"


class Multiprocessor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What one multiprocessor holds.

    Attributes:
        compute_capabilities: ``"major.minor"`` of the devices that have it.
        threads, blocks: Most that are resident at once.
        registers: Registers of 32 bits.
        shared_bytes: Shared memory.
        shared_unit_bytes: In such units a block gets shared memory.
        reserved_bytes_per_block: Shared memory that the system takes for each block.
    """

    compute_capabilities: tuple[str, ...]
    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    shared_unit_bytes: int
    reserved_bytes_per_block: int


class RecordedLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A limit as profilers write it, ``"SMEM"``, and its name here."""

    recorded: str
    name: str


class OccupancyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``occupancy.toml``.

    Attributes:
        warp_threads: Threads of a warp.
        register_unit: In such units a warp gets registers.
        parts: Parts of a multiprocessor, each with its share of the registers.
        recorded_limits: The limits that profilers write.
        multiprocessors: By compute capability.
    """

    warp_threads: int
    register_unit: int
    parts: int
    recorded_limits: tuple[RecordedLimit, ...]
    multiprocessors: tuple[Multiprocessor, ...]


@dataclass(frozen=True, slots=True)
class Residency:
    """How much of a launch is on one multiprocessor at once.

    Attributes:
        blocks: Blocks that fit; 0 when not even one does.
        warps: Warps of those blocks.
        most_warps: Warps the multiprocessor could hold.
        limits: What keeps it from holding more blocks: :data:`REGISTERS`, :data:`SHARED_MEMORY`,
            :data:`BLOCK_SIZE` (the warps of a block, or too many small blocks), in this order.
    """

    blocks: int
    warps: int
    most_warps: int
    limits: tuple[str, ...]


@once
def occupancy_file() -> OccupancyFile:
    """The entries as they stand in the file."""
    return load("occupancy.toml", OccupancyFile)


def multiprocessor(compute_capability: str) -> Multiprocessor | None:
    """The multiprocessor of ``"9.0"``; None for one that is not known."""
    for item in occupancy_file().multiprocessors:
        if compute_capability in item.compute_capabilities:
            return item
    return None


def recorded_limits(text: str) -> tuple[str, ...]:
    """The limits behind ``"REGS, SMEM"``, as a file gives them; what is not known stays itself."""
    names = {entry.recorded: entry.name for entry in occupancy_file().recorded_limits}
    parts = [part.strip(" \"'[]") for part in text.split(",")]
    return tuple(dict.fromkeys(names.get(part.upper(), part) for part in parts if part))


@lru_cache(maxsize=65536)
def residency(
    holds: Multiprocessor, block_threads: int, registers_per_thread: int, shared_bytes: int
) -> Residency:
    """What fits of a launch.

    Args:
        holds: The multiprocessor.
        block_threads: Threads of a block, at least 1.
        registers_per_thread: Registers of a thread; 0 for none.
        shared_bytes: Shared memory of a block, static and dynamic.
    """
    rules = occupancy_file()
    warps = _up(block_threads, rules.warp_threads) // rules.warp_threads
    most_warps = holds.threads // rules.warp_threads
    fitting = {
        REGISTERS: _by_registers(holds, warps, registers_per_thread),
        SHARED_MEMORY: _by_shared_memory(holds, shared_bytes),
        BLOCK_SIZE: min(most_warps // warps, holds.blocks),
    }
    blocks = min(fitting.values())
    limits = tuple(name for name, count in fitting.items() if count == blocks)
    return Residency(blocks, blocks * warps, most_warps, limits)


def _by_registers(holds: Multiprocessor, warps: int, registers_per_thread: int) -> int:
    """Blocks whose registers fit: warps are spread over the parts. Without any more than there may
    be: then registers limit nothing."""
    rules = occupancy_file()
    if registers_per_thread <= 0:
        return holds.blocks + 1
    of_warp = _up(registers_per_thread * rules.warp_threads, rules.register_unit)
    resident = holds.registers // rules.parts // of_warp * rules.parts
    return resident // warps


def _by_shared_memory(holds: Multiprocessor, shared_bytes: int) -> int:
    of_block = _up(shared_bytes + holds.reserved_bytes_per_block, holds.shared_unit_bytes)
    return holds.shared_bytes // of_block if of_block > 0 else holds.blocks + 1


def _up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit
