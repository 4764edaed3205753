"""What one process recorded, the same for every file of AMD's profilers.

The readers of the files fill these tables; :mod:`.assemble` makes a trace of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.constant_columns import concatenate, constant

DISPATCH = (
    "pid", "thread", "agent", "queue", "stream", "kernel", "region", "external", "correlation",
    "start", "end", "dispatch", "group_segment", "private_segment", "workgroup_x", "workgroup_y",
    "workgroup_z", "grid_x", "grid_y", "grid_z",
)  # fmt: skip
"""Dispatches of kernels. ``kernel`` is an id of :class:`KernelSymbols`, ``region`` the code of the
range that the recorder names it after, ``external`` the program's own id of the call, ``dispatch``
the number that counters refer to. The grid is in work items."""

MAX_SIZE = 2**40
"""A larger grid, in work items, is damage."""

OPERATION = (
    "pid", "thread", "agent", "queue", "stream", "category", "name", "bytes", "correlation",
    "start", "end",
)  # fmt: skip
"""Other work of devices: copies, fills, and what is of an unknown kind. ``category`` is a
:class:`~torch_tb_profiler.trace.categories.Category`, ``name`` the code of a text."""

CALL = ("pid", "thread", "category", "kind", "name", "correlation", "start", "end")
"""Calls of the host; ``kind`` is the code of the library's name."""

MARKER = ("pid", "thread", "event_type", "text", "start", "end")
"""Ranges and marks of ROCTx; ``event_type`` is one of :mod:`..nsys.nvtx`."""

ALLOCATION = ("pid", "thread", "agent", "is_release", "address", "bytes", "time")
"""Allocations of memory and releases, which may lack their size and agent."""

COUNTER = ("dispatch", "key", "value")
"""Values of counters of dispatches; ``key`` is the code of the counter's name."""

SAMPLE = ("agent", "metric", "unit", "time", "value")
"""Samples of devices, and of the host where the agent is no GPU."""

TABLES: dict[str, tuple[str, ...]] = {
    "dispatches": DISPATCH,
    "operations": OPERATION,
    "calls": CALL,
    "markers": MARKER,
    "allocations": ALLOCATION,
    "counters": COUNTER,
    "samples": SAMPLE,
}

Rows = dict[str, npt.NDArray[Any]]
"""Columns of a table, of equal length: int64, except ``value``, which is float64. Absent integers
are ``ABSENT``, absent codes -1."""

_CODES = ("region", "name", "kind", "text", "key", "metric", "unit")


class Agent(Struct, frozen=True):
    """A processor or a GPU.

    Attributes:
        is_gpu: Whether it is a GPU.
        node: The machine it is in.
        number: Its number among the GPUs of the machine, as the runtime counts; None if unknown.
        name: Its product name, else that of its architecture.
        properties: Properties by the names of
            :class:`~torch_tb_profiler.trace.info.DeviceInfo`.
    """

    is_gpu: bool
    node: str = ""
    number: int | None = None
    name: str | None = None
    properties: dict[str, int] = field(default_factory=dict)


class KernelSymbols(Struct, frozen=True):
    """Kernels by id, ascending; arrays are aligned.

    Attributes:
        ids: Their ids.
        names: Their names, None for none; texts of the trace are only those that are used.
        registers: Vector registers of a work item, ``ABSENT`` if unknown.
    """

    ids: Int64
    names: list[str | None]
    registers: Int64

    @classmethod
    def build(cls, ids: Int64, names: list[str | None], registers: Int64) -> KernelSymbols:
        """Symbols in any order; among several with one id the first counts."""
        known, first = np.unique(ids, return_index=True)
        return cls(known, [names[row] for row in first.tolist()], registers[first])


def no_symbols() -> KernelSymbols:
    """No kernels."""
    return KernelSymbols(np.empty(0, np.int64), [], np.empty(0, np.int64))


class ProcessRecording(Struct):
    """What one process recorded; ids are unique within it.

    Attributes:
        pid: The process, if one is known for all rows.
        rank: Its rank in a distributed job.
        world_size: Number of ranks of the job.
        agents: Id → agent.
        kernels: The kernels that dispatches name.
        thread_names: (process, thread) → name.
        queue_names: Id → name of a queue.
        stream_names: Id → name of a stream.
        tables: Name of :data:`TABLES` → its rows, in parts.
    """

    pid: int = int(ABSENT)
    rank: int | None = None
    world_size: int | None = None
    agents: dict[int, Agent] = field(default_factory=dict)
    kernels: KernelSymbols = field(default_factory=no_symbols)
    thread_names: dict[tuple[int, int], str] = field(default_factory=dict)
    queue_names: dict[int, str] = field(default_factory=dict)
    stream_names: dict[int, str] = field(default_factory=dict)
    tables: dict[str, list[Rows]] = field(default_factory=dict)

    def add(self, table: str, size: int, **columns: npt.NDArray[Any]) -> None:
        """Add rows of a table; columns that are not given are absent, others are ignored.

        Raises:
            KeyError: there is no such table.
        """
        rows = {name: columns.get(name) for name in TABLES[table]}
        if size:
            self.tables.setdefault(table, []).append(
                {
                    name: constant(-1 if name in _CODES else ABSENT, size, np.int64)
                    if values is None
                    else values
                    for name, values in rows.items()
                }
            )

    def take(self, table: str) -> Rows:
        """All rows of a table, which is empty afterwards.

        Raises:
            KeyError: there is no such table.
        """
        parts = self.tables.pop(table, [])
        return {
            name: concatenate(
                [part.pop(name) for part in parts], np.float64 if name == "value" else np.int64
            )
            for name in TABLES[table]
        }


def total_registers(arch: Int64, accum: Int64) -> Int64:
    """Vector registers of a work item: those of both kinds; ``ABSENT`` where the first is."""
    return np.where(arch < 0, ABSENT, arch + np.maximum(accum, 0))
