"""Merges batches, in file order, into columns of the whole file.

References to texts of earlier pieces are resolved, and packets get their times.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, Interner
from torch_tb_profiler.importers.pftrace.argument_targets import TARGETS, Target
from torch_tb_profiler.importers.pftrace.batch import (
    AnyText,
    Argument,
    InternedRef,
    PacketBatch,
    SequenceState,
    TrackKey,
)
from torch_tb_profiler.importers.pftrace.clocks import ClockPackets, Clocks, clock_packets
from torch_tb_profiler.importers.pftrace.descriptors import Descriptor
from torch_tb_profiler.importers.pftrace.requested import requested_rows
from torch_tb_profiler.importers.pftrace.tables import DTYPES, TABLES
from torch_tb_profiler.importers.pftrace.values import ArgumentColumn, column_of
from torch_tb_profiler.importers.requested_arguments import RequestedArguments
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

LINKS = ("flows", "submissions")
"""Tables whose rows belong to slices, not to packets."""


class _Sequence(Struct):
    """The state of a packet sequence after the pieces that were merged."""

    is_valid: bool = False
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    clock: int = 0
    track: int = ABSENT
    resets: int = 0

    def update(self, state: SequenceState) -> None:
        """Apply the changes of a piece."""
        if state.is_new:
            self.texts, self.clock, self.track = {}, 0, ABSENT
        if state.is_valid is not None:
            self.is_valid = state.is_valid
        self.texts.update(state.texts)
        self.clock = self.clock if state.clock is None else state.clock
        self.track = self.track if state.track is None else state.track
        self.resets += state.resets


class PacketBatchMerger(Struct):
    """Merges batches one by one.

    Attributes:
        strings: All texts of the file.
        tracks: The identities of its tracks.
        descriptors: uuid → descriptor; of repeated ones the last counts.
        requested: The arguments that are read on request.
        columns: Name of an argument → its target and the parts of its column.
        arguments: Rows of the table ``arguments``, with rows of the file, of those requested.
        clocks: The clocks of the file.
        quality: Problems so far.
        parts: Parts of the tables, with the times of their packets.
        slice_count: Number of slices so far.
        packet_count: Number of packets so far.
    """

    requested: RequestedArguments = field(default_factory=RequestedArguments)
    arguments: list[ColumnArrays] = field(default_factory=list)
    strings: Interner = field(default_factory=Interner)
    tracks: Interner = field(default_factory=Interner)
    descriptors: dict[int, Descriptor] = field(default_factory=dict)
    columns: dict[str, tuple[Target, list[ArgumentColumn]]] = field(default_factory=dict)
    clocks: Clocks = field(default_factory=Clocks)
    quality: QualityReport = field(default_factory=QualityReport)
    parts: dict[str, list[ColumnArrays]] = field(default_factory=dict)
    slice_count: int = 0
    packet_count: int = 0
    _sequences: dict[int, _Sequence] = field(default_factory=dict)
    _waiting: deque[PacketBatch] = field(default_factory=deque)
    _stamped: list[ClockPackets] | None = None

    def add(self, batch: PacketBatch) -> None:
        """Add the next batch of the file.

        Batches wait while no snapshot relates the clocks of the first of them to the trace's clock.
        """
        self.clocks.observe(batch.snapshots)
        self._waiting.append(batch)
        self._merge_waiting(is_end=False)

    def finish(self) -> None:
        """Merge the batches that still wait, after the last one."""
        self._merge_waiting(is_end=True)

    def _merge_waiting(self, *, is_end: bool) -> None:
        while self._waiting:
            batch = self._waiting[0]
            before = [self._sequences.setdefault(number, _Sequence()) for number in batch.sequences]
            if self._stamped is None:
                self._stamped = clock_packets(batch, [each.clock for each in before])
            if self.clocks.unrelated(self._stamped) and not is_end:
                return
            times = self.clocks.times(batch, self._stamped)
            self._waiting.popleft()
            self._stamped = None
            self._merge(batch, before, times)

    def _merge(self, batch: PacketBatch, before: list[_Sequence], times: Int64) -> None:
        self.quality.merge(batch.quality)
        is_lost = self._lost(batch, before)
        texts = [self._text(text) for text in batch.texts]
        codes = np.array([*(self._code(text) for text in texts), -1], np.int32)
        tracks = np.array([self._track(key, texts) for key in batch.tracks], np.int32)
        for descriptor in batch.descriptors:
            self.descriptors[descriptor.uuid] = descriptor
        resets = np.array([each.resets for each in before], np.int64)
        batch.tables["counters"]["resets"] += resets[batch.sequence][
            batch.tables["counters"]["packet"]
        ]
        row_of = self._add_tables(batch, times, is_lost, codes, tracks)
        self._add_arguments(batch, texts, row_of)
        for number, state in batch.states.items():
            self._sequences[number].update(state)
        self.packet_count += batch.packets

    def table(self, name: str) -> ColumnArrays:
        """Concatenate one table and release its parts."""
        parts = self.parts.pop(name, [])
        dtypes: dict[str, type[np.generic]] = {"time_ns": np.int64, **DTYPES}
        columns = TABLES[name] if name in LINKS else ("time_ns", *TABLES[name])
        return {
            column: np.concatenate([part[column] for part in parts])
            if parts
            else np.empty(0, dtypes[column])
            for column in columns
        }

    def descriptor_of(self, key: TrackKey) -> Descriptor | None:
        """The descriptor of a track; None if it has none."""
        return self.descriptors.get(key.number) if key.kind == "track" else None

    def _lost(self, batch: PacketBatch, before: list[_Sequence]) -> Bools:
        """Which packets need interned texts that are incomplete."""
        is_invalid = np.array([not each.is_valid for each in before], np.bool_)
        is_lost: Bools = batch.is_pending.copy()
        if before:
            is_lost &= is_invalid[batch.sequence]
        return is_lost

    def _text(self, text: AnyText) -> str | None:
        if isinstance(text, str):
            return text
        resolved = self._sequences[text.sequence].texts.get((text.kind, text.iid))
        if resolved is None:
            self.quality.add("interned_missing")
        return resolved

    def _code(self, text: str | None) -> int:
        if text is None:
            return -1
        if len(text) > MAX_TEXT_CHARS:
            self.quality.add("text_cut")
            text = text[:MAX_TEXT_CHARS]
        return self.strings[text]

    def _track(self, key: TrackKey, texts: list[str | None]) -> int:
        if key.kind == "default":
            uuid = self._sequences[key.number].track
            key = TrackKey("sequence", key.number) if uuid == ABSENT else TrackKey("track", uuid)
        elif key.text is not None:
            key = key._replace(text=texts[key.text] if key.text >= 0 else None)
        return self.tracks[key]

    def _add_tables(
        self, batch: PacketBatch, times: Int64, is_lost: Bools, codes: Int32, tracks: Int32
    ) -> Int64:
        """Add all tables; return per slice of the batch its row in the file, -1 if it is
        dropped."""
        row_of = np.empty(0, np.int64)
        for name, table in batch.tables.items():
            if name in LINKS:
                continue
            packet = table["packet"]
            lost = is_lost[packet]
            self.quality.add("state_lost", int(lost.sum()))
            time = times[packet]
            has_no_time = ~lost & (time == ABSENT)
            self.quality.add("event_without_time", int(has_no_time.sum()))
            is_used = ~lost & ~has_no_time
            part = {
                column: _renumbered(column, table[column], codes, tracks)[is_used]
                for column in TABLES[name]
            }
            part["time_ns"] = time[is_used]
            part["packet"] = packet[is_used] + self.packet_count
            self.parts.setdefault(name, []).append(part)
            if name == "slices":
                row_of = np.where(is_used, np.cumsum(is_used) - 1 + self.slice_count, -1)
        for name in LINKS:
            table = batch.tables[name]
            row = row_of[table["slice"]]
            is_used = row >= 0
            part = {column: values[is_used] for column, values in table.items()}
            part["slice"] = row[is_used]
            self.parts.setdefault(name, []).append(part)
        self.slice_count += int((row_of >= 0).sum())
        return row_of

    def _add_arguments(self, batch: PacketBatch, texts: list[str | None], row_of: Int64) -> None:
        for code, argument in batch.arguments:
            name = texts[code]
            target = TARGETS.get(name) if name is not None else None
            if name is None:
                continue
            rows = row_of[argument.rows]
            is_used = rows >= 0
            values = [self._text(v) if isinstance(v, InternedRef) else v for v in argument.values]
            resolved = Argument(rows, argument.ints, argument.codes, values)
            if name in self.requested.names:
                self.arguments.append(
                    requested_rows(resolved, name, self.requested, self.strings, self.quality)
                )
            if target is None:
                continue
            column = column_of(resolved, target, name, self.strings, self.quality)
            if not is_used.all():
                column = ArgumentColumn(column.rows[is_used], column.values[is_used])
            self.columns.setdefault(name, (target, []))[1].append(column)


def _renumbered(column: str, values: Int32 | Int64, codes: Int32, tracks: Int32) -> Int32 | Int64:
    if column.endswith("_code"):
        return codes[values]
    return tracks[values] if column == "track" else values
