"""Resident blocks of a launch on an NVIDIA SM, and what limits them.

By the rules of NVIDIA's occupancy calculator; figures and sources in ``occupancy.toml``.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

REGISTERS = "registers"
SHARED_MEMORY = "shared memory"
BLOCK_SIZE = "block size"


class Multiprocessor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The resources of one SM.

    Attributes:
        compute_capabilities: ``"major.minor"`` of the devices that have it.
        threads, blocks: Maximum of resident threads and blocks.
        registers: Registers of 32 bits.
        shared_bytes: Shared memory.
        shared_unit_bytes: Allocation unit of shared memory.
        reserved_bytes_per_block: Shared memory reserved by the system per block.
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
        register_unit: Allocation unit of the registers of a warp.
        parts: Partitions of an SM, each with its share of the registers.
        recorded_limits: The limits that profilers write.
        multiprocessors: The SMs by compute capability.
    """

    warp_threads: int
    register_unit: int
    parts: int
    recorded_limits: tuple[RecordedLimit, ...]
    multiprocessors: tuple[Multiprocessor, ...]


class Residency(msgspec.Struct, frozen=True):
    """The part of a launch that is resident on one SM.

    Attributes:
        blocks: Resident blocks; 0 if not even one fits.
        warps: Warps of those blocks.
        most_warps: Maximum of resident warps of the SM.
        limits: The resources that limit the blocks: :data:`REGISTERS`, :data:`SHARED_MEMORY`,
            :data:`BLOCK_SIZE` (the warps of a block, or too many small blocks), in this order.
    """

    blocks: int
    warps: int
    most_warps: int
    limits: tuple[str, ...]


@once
def occupancy_file() -> OccupancyFile:
    """The entries of the file."""
    return load("occupancy.toml", OccupancyFile)


def multiprocessor(compute_capability: str) -> Multiprocessor | None:
    """The SM of compute capability ``"9.0"``; None if unknown."""
    for item in occupancy_file().multiprocessors:
        if compute_capability in item.compute_capabilities:
            return item
    return None


def recorded_limits(text: str) -> tuple[str, ...]:
    """The limits in ``"REGS, SMEM"``, as recorded; unknown ones stay as they are."""
    names = {entry.recorded: entry.name for entry in occupancy_file().recorded_limits}
    parts = [part.strip(" \"'[]") for part in text.split(",")]
    return tuple(dict.fromkeys(names.get(part.upper(), part) for part in parts if part))


@lru_cache(maxsize=65536)
def block_residency(
    sm: Multiprocessor, block_threads: int, registers_per_thread: int, shared_bytes: int
) -> Residency:
    """The resident part of a launch.

    Args:
        sm: The SM.
        block_threads: Threads of a block, at least 1.
        registers_per_thread: Registers of a thread; 0 for none.
        shared_bytes: Shared memory of a block, static and dynamic.
    """
    rules = occupancy_file()
    warps = _round_up(block_threads, rules.warp_threads) // rules.warp_threads
    most_warps = sm.threads // rules.warp_threads
    fitting = {
        REGISTERS: _by_registers(sm, warps, registers_per_thread),
        SHARED_MEMORY: _by_shared_memory(sm, shared_bytes),
        BLOCK_SIZE: min(most_warps // warps, sm.blocks),
    }
    blocks = min(fitting.values())
    limits = tuple(name for name, count in fitting.items() if count == blocks)
    return Residency(blocks, blocks * warps, most_warps, limits)


def _by_registers(sm: Multiprocessor, warps: int, registers_per_thread: int) -> int:
    """Blocks whose registers fit, with warps spread over the partitions; more than the maximum of
    blocks if there are none, so that registers do not limit."""
    rules = occupancy_file()
    if registers_per_thread <= 0:
        return sm.blocks + 1
    warp_registers = _round_up(registers_per_thread * rules.warp_threads, rules.register_unit)
    resident = sm.registers // rules.parts // warp_registers * rules.parts
    return resident // warps


def _by_shared_memory(sm: Multiprocessor, shared_bytes: int) -> int:
    block_bytes = _round_up(shared_bytes + sm.reserved_bytes_per_block, sm.shared_unit_bytes)
    return sm.shared_bytes // block_bytes if block_bytes > 0 else sm.blocks + 1


def _round_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit
