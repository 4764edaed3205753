"""One process of a JSON file of rocprofv3, filled with its values and records in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.rocprof import json_records as records
from torch_tb_profiler.importers.rocprof import json_tables as tables
from torch_tb_profiler.importers.rocprof.agents import LIST_DECODER, AgentRecord, agent_of, is_gpu
from torch_tb_profiler.importers.rocprof.json_cursor import Batch
from torch_tb_profiler.importers.rocprof.json_names import JsonNames, read_names
from torch_tb_profiler.importers.rocprof.recording import (
    Agent,
    KernelSymbols,
    ProcessRecording,
    total_registers,
)
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport

T = TypeVar("T")

NOT_READ = frozenset({"scratch_memory", "pc_sample_host_trap", "pc_sample_stochastic"})
"""Lists of records that no table of a trace models."""

OMPT = "ompt"
"""The list of calls of OpenMP."""

DESCRIPTIONS = frozenset({"code_objects", "host_functions", "summary"})
"""Lists that are no records."""

MAX_REGISTERS = 1 << 20
"""More registers of a work item are damage."""

_Columns = dict[str, Int64]


class _Node(Struct):
    id: Any = None
    hash: Any = None
    machine_id: Any = None


class _Metadata(Struct):
    pid: Any = ABSENT
    node: _Node | None = None


_METADATA = msgspec.json.Decoder(_Metadata)


class JsonProcess:
    """Collects what a file has of one process.

    Args:
        texts: Receives the texts.
        quality: Counts damage and records that are not read.
    """

    def __init__(self, texts: TextCodes, quality: QualityReport) -> None:
        self._texts = texts
        self._quality = quality
        self._names = JsonNames()
        self._metadata = _Metadata()
        self._agents: list[AgentRecord] = []
        self._symbols: list[KernelSymbols] = []
        self._counter_names: dict[int, str] = {}
        self._counters: list[tuple[Int64, Int64, Int64, Float64]] = []
        self._counted_records = 0
        self._counted: list[_Columns] = []
        self._parts: dict[str, list[_Columns]] = {}

    def add_value(self, key: str, text: bytes) -> None:
        """Add a value that is no list of objects; unknown ones are ignored."""
        if key == "strings":
            names = read_names(text)
            if names is None:
                self._quality.add("event_dropped")
            self._names = names or self._names
        elif key == "metadata":
            try:
                self._metadata = _METADATA.decode(text.decode("utf-8", "replace"))
            except (msgspec.DecodeError, RecursionError):
                self._quality.add("event_dropped")

    def add_records(self, key: str, batch: Batch) -> int:
        """Add objects of a list; returns how many of them are events."""
        if key == "agents":
            self._agents += records.decode(LIST_DECODER, batch, self._quality)
            return 0
        if key == "kernel_symbols":
            self._add_symbols(records.decode(records.KERNELS, batch, self._quality))
            return 0
        if key == "counters":
            for info in records.decode(records.COUNTER_INFOS, batch, self._quality):
                if isinstance(info.id.handle, int) and isinstance(info.name, str):
                    self._counter_names[info.id.handle] = info.name
            return 0
        if key == "counter_collection":
            return self._add_counters(records.decode(records.COUNTERS, batch, self._quality))
        if key in DESCRIPTIONS:
            return 0
        if key == "kernel_dispatch":
            return self._add(key, records.DISPATCHES, records.dispatch_columns, batch)
        if key == "memory_copy":
            return self._add(key, records.COPIES, records.copy_columns, batch)
        if key == "memory_allocation":
            return self._add(key, records.ALLOCATIONS, records.allocation_columns, batch)
        if key.endswith("_api") or key == OMPT:
            return self._add("calls", records.CALLS, records.call_columns, batch)
        self._quality.add("rocprof_not_read", len(batch.ends), key)
        return 0

    def _add(
        self,
        key: str,
        decoder: msgspec.json.Decoder[list[T]],
        columns: Callable[[Sequence[T], QualityReport], _Columns],
        batch: Batch,
    ) -> int:
        decoded = records.decode(decoder, batch, self._quality)
        if decoded:
            self._parts.setdefault(key, []).append(columns(decoded, self._quality))
        return len(decoded)

    def _add_symbols(self, kernels: list[records.KernelRecord]) -> None:
        columns = records.Columns(kernels, self._quality)
        arch = columns.ints("arch_vgpr_count", MAX_REGISTERS)
        accum = columns.ints("accum_vgpr_count", MAX_REGISTERS)
        self._symbols.append(
            KernelSymbols(
                columns.ints("kernel_id"),
                list(map(records.kernel_name, kernels)),
                total_registers(arch, accum),
            )
        )

    def _add_counters(self, counted: list[records.CounterRecord]) -> int:
        dispatch, record, counter, value = records.counter_columns(counted, self._quality)
        self._counters.append((dispatch, record + self._counted_records, counter, value))
        self._counted_records += len(counted)
        dispatches = [each.dispatch() for each in counted]
        self._counted.append(records.dispatch_columns(dispatches, self._quality))
        return len(counted)

    def recording(self) -> ProcessRecording:
        """What was collected, with texts in place of numbers."""
        recording = ProcessRecording(agents=self._agents_by_id())
        if isinstance(self._metadata.pid, int) and 0 <= self._metadata.pid < 2**32:
            recording.pid = self._metadata.pid
        if self._symbols:
            recording.kernels = KernelSymbols.build(
                np.concatenate([each.ids for each in self._symbols]),
                [name for each in self._symbols for name in each.names],
                np.concatenate([each.registers for each in self._symbols]),
            )
        context = tables.JsonContext(recording, self._names, self._texts, self._quality)
        dispatches = tables.join(self._parts.pop("kernel_dispatch", []))
        tables.add_dispatches(context, tables.with_counted(dispatches, tables.join(self._counted)))
        tables.add_copies(context, tables.join(self._parts.pop("memory_copy", [])))
        tables.add_calls(context, tables.join(self._parts.pop("calls", [])))
        tables.add_allocations(context, tables.join(self._parts.pop("memory_allocation", [])))
        if self._counters:
            dispatch, record, counter, value = (
                np.concatenate(parts) for parts in zip(*self._counters, strict=True)
            )
            chosen = tables.first_records(dispatch, record, counter)
            tables.add_counters(
                context, dispatch[chosen], counter[chosen], value[chosen], self._counter_names
            )
        return recording

    def _agents_by_id(self) -> dict[int, Agent]:
        node = self._metadata.node or _Node()
        machine = str(node.machine_id or node.hash or node.id or "")
        agents: dict[int, Agent] = {}
        gpus = 0
        for record in self._agents:
            if isinstance(record.id.handle, int):
                agents.setdefault(record.id.handle, agent_of(record, machine, gpus))
                gpus += is_gpu(record)
        return agents
