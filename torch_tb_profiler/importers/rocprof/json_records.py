"""The records of rocprofv3's JSON: their types, and their values as columns.

Source of the fields: ``rocprofiler-sdk/cxx/serialization.hpp`` of ROCprofiler-SDK and recordings.
Values may be of any type; integers that are none become absent and are counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.importers.kineto.values import float_column, int_column
from torch_tb_profiler.importers.rocprof.agents import Handle
from torch_tb_profiler.importers.rocprof.json_cursor import Batch
from torch_tb_profiler.importers.rocprof.recording import MAX_SIZE
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.quality import QualityReport

T = TypeVar("T")

_NO_NUMBER = re.compile(rb":\s*-?(?:nan|inf|Infinity)\b", re.IGNORECASE)
"""Numbers that JSON does not have, as the writer prints them."""


class CorrelationRecord(Struct, gc=False):
    """The ids of a call and of the work that it caused."""

    internal: Any = ABSENT
    external: Any = 0


class SizeRecord(Struct, gc=False):
    """A size in three dimensions."""

    x: Any = ABSENT
    y: Any = ABSENT
    z: Any = ABSENT


class DispatchInfoRecord(Struct, gc=False):
    """What was dispatched, and where."""

    agent_id: Handle = field(default_factory=Handle)
    queue_id: Handle = field(default_factory=Handle)
    kernel_id: Any = ABSENT
    dispatch_id: Any = ABSENT
    private_segment_size: Any = ABSENT
    group_segment_size: Any = ABSENT
    workgroup_size: SizeRecord = field(default_factory=SizeRecord)
    grid_size: SizeRecord = field(default_factory=SizeRecord)


class TimedRecord(Struct, gc=False):
    """What all records have."""

    kind: Any = ABSENT
    operation: Any = ABSENT
    thread_id: Any = ABSENT
    correlation_id: CorrelationRecord = field(default_factory=CorrelationRecord)
    start_timestamp: Any = ABSENT
    end_timestamp: Any = ABSENT


class DispatchRecord(TimedRecord, gc=False):
    """A dispatch of a kernel."""

    dispatch_info: DispatchInfoRecord = field(default_factory=DispatchInfoRecord)
    stream_id: Handle = field(default_factory=Handle)
    kernel_rename_val: Any = 0


class CopyRecord(TimedRecord, gc=False):
    """A copy of memory."""

    dst_agent_id: Handle = field(default_factory=Handle)
    src_agent_id: Handle = field(default_factory=Handle)
    bytes: Any = ABSENT
    stream_id: Handle = field(default_factory=Handle)


class AllocationRecord(TimedRecord, gc=False):
    """An allocation of memory, or its release."""

    agent_id: Handle = field(default_factory=Handle)
    address: Any = ABSENT
    allocation_size: Any = ABSENT


class CounterValueRecord(Struct, gc=False):
    """The value of one instance of a counter."""

    counter_id: Handle = field(default_factory=Handle)
    value: Any = None


class CountedDispatchRecord(Struct, gc=False):
    """The dispatch whose counters were read."""

    correlation_id: CorrelationRecord = field(default_factory=CorrelationRecord)
    start_timestamp: Any = ABSENT
    end_timestamp: Any = ABSENT
    dispatch_info: DispatchInfoRecord = field(default_factory=DispatchInfoRecord)


class CounterRecord(Struct, gc=False):
    """The counters of one dispatch."""

    thread_id: Any = ABSENT
    dispatch_data: CountedDispatchRecord = field(default_factory=CountedDispatchRecord)
    records: list[CounterValueRecord] = []
    kernel_rename_val: Any = 0
    stream_id: Handle = field(default_factory=Handle)

    def dispatch(self) -> DispatchRecord:
        """The dispatch, as a recording of dispatches has it."""
        data = self.dispatch_data
        return DispatchRecord(
            thread_id=self.thread_id,
            correlation_id=data.correlation_id,
            start_timestamp=data.start_timestamp,
            end_timestamp=data.end_timestamp,
            dispatch_info=data.dispatch_info,
            stream_id=self.stream_id,
            kernel_rename_val=self.kernel_rename_val,
        )


class KernelRecord(Struct, gc=False):
    """A kernel; old releases write fewer of its names."""

    kernel_id: Any = ABSENT
    kernel_name: Any = None
    formatted_kernel_name: Any = None
    demangled_kernel_name: Any = None
    arch_vgpr_count: Any = ABSENT
    accum_vgpr_count: Any = ABSENT


class CounterInfoRecord(Struct, gc=False):
    """The description of a counter."""

    id: Handle = field(default_factory=Handle)
    name: Any = None


DISPATCHES = msgspec.json.Decoder(list[DispatchRecord])
COPIES = msgspec.json.Decoder(list[CopyRecord])
CALLS = msgspec.json.Decoder(list[TimedRecord])
ALLOCATIONS = msgspec.json.Decoder(list[AllocationRecord])
COUNTERS = msgspec.json.Decoder(list[CounterRecord])
KERNELS = msgspec.json.Decoder(list[KernelRecord])
COUNTER_INFOS = msgspec.json.Decoder(list[CounterInfoRecord])

_FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(decoder: msgspec.json.Decoder[list[T]], batch: Batch, quality: QualityReport) -> list[T]:
    """The records of a batch. If one is damaged, each is decoded alone, and those that are damaged
    are counted as ``event_dropped``."""
    try:
        return decoder.decode(batch.document())
    except _FAILURES:
        pass
    records: list[T] = []
    for element in batch.elements():
        text = _NO_NUMBER.sub(b": null", element)
        try:
            text.decode()
        except UnicodeDecodeError:
            text = text.decode("utf-8", "replace").encode()
            quality.add("bad_encoding")
        try:
            records += decoder.decode(b"[%b]" % text)
        except _FAILURES:
            quality.add("event_dropped")
    return records


class Columns:
    """Columns of records.

    Args:
        records: The records.
        quality: Counts values of other types.
    """

    def __init__(self, records: Sequence[Any], quality: QualityReport) -> None:
        self._records = records
        self._quality = quality

    def ints(self, field_path: str, limit: int = 2**63 - 1) -> Int64:
        """A column of integers, ``ABSENT`` where there is none or one beyond ``limit``.

        Args:
            field_path: The field, ``"correlation_id.internal"``.
            limit: The largest plausible absolute value.
        """
        values = list(map(attrgetter(field_path), self._records))
        return int_column(values, self._quality, field_path, limit)

    def timed(self) -> dict[str, Int64]:
        """The columns that all records have."""
        return {
            "thread": self.ints("thread_id"),
            "correlation": self.ints("correlation_id.internal"),
            "start": self.ints("start_timestamp"),
            "end": self.ints("end_timestamp"),
        }

    def operations(self) -> dict[str, Int64]:
        """The numbers of kinds and operations."""
        return {"kind": self.ints("kind"), "operation": self.ints("operation")}


def dispatch_columns(records: Sequence[DispatchRecord], quality: QualityReport) -> dict[str, Int64]:
    """The columns of dispatches, as in ``recording.DISPATCH``; ``region`` is the number of its
    text."""
    columns = Columns(records, quality)
    infos = Columns([record.dispatch_info for record in records], quality)
    return {
        **columns.timed(),
        "agent": infos.ints("agent_id.handle"),
        "queue": infos.ints("queue_id.handle"),
        "stream": columns.ints("stream_id.handle"),
        "kernel": infos.ints("kernel_id"),
        "external": columns.ints("correlation_id.external"),
        "region": columns.ints("kernel_rename_val"),
        "dispatch": infos.ints("dispatch_id"),
        "group_segment": infos.ints("group_segment_size", MAX_BYTES),
        "private_segment": infos.ints("private_segment_size", MAX_BYTES),
        **{
            f"{name}_{axis}": infos.ints(f"{name}_size.{axis}", MAX_SIZE)
            for name in ("workgroup", "grid")
            for axis in "xyz"
        },
    }


def copy_columns(records: Sequence[CopyRecord], quality: QualityReport) -> dict[str, Int64]:
    """The columns of copies: ``source`` and ``target`` are agents."""
    columns = Columns(records, quality)
    return {
        **columns.timed(),
        **columns.operations(),
        "source": columns.ints("src_agent_id.handle"),
        "target": columns.ints("dst_agent_id.handle"),
        "stream": columns.ints("stream_id.handle"),
        "bytes": columns.ints("bytes", MAX_BYTES),
    }


def call_columns(records: Sequence[TimedRecord], quality: QualityReport) -> dict[str, Int64]:
    """The columns of calls."""
    columns = Columns(records, quality)
    return {**columns.timed(), **columns.operations()}


def allocation_columns(
    records: Sequence[AllocationRecord], quality: QualityReport
) -> dict[str, Int64]:
    """The columns of allocations and releases."""
    columns = Columns(records, quality)
    addresses = [_address(record.address) for record in records]
    return {
        **columns.timed(),
        **columns.operations(),
        "agent": columns.ints("agent_id.handle"),
        "address": int_column(addresses, quality, "address"),
        "bytes": columns.ints("allocation_size", MAX_BYTES),
    }


def _address(value: Any) -> Any:
    """An address: a number, a text in hexadecimal digits, or an object that holds one."""
    if isinstance(value, dict):
        return value.get("handle", value.get("value"))
    return value


def counter_columns(
    records: Sequence[CounterRecord], quality: QualityReport
) -> tuple[Int64, Int64, Int64, Float64]:
    """Per value of a counter its dispatch, the number of its record among ``records``, the id of
    the counter, and the value."""
    dispatches = Columns(records, quality).ints("dispatch_data.dispatch_info.dispatch_id")
    per_dispatch = np.array([len(record.records) for record in records], np.int64)
    values = [value for record in records for value in record.records]
    ids = Columns(values, quality).ints("counter_id.handle")
    numbers = float_column([value.value for value in values], quality, "counter value")
    record = np.repeat(np.arange(len(records)), per_dispatch)
    return dispatches[record], record, ids, numbers


def kernel_name(record: KernelRecord) -> str | None:
    """The most readable name of a kernel; None without one."""
    formatted, demangled, mangled = (
        each if isinstance(each, str) else ""
        for each in (record.formatted_kernel_name, record.demangled_kernel_name, record.kernel_name)
    )
    name = formatted or demangled.removesuffix(" [clone .kd]") or mangled.removesuffix(".kd")
    return name or None
