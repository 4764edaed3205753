"""Slices in the order that every table of a trace relies on, as plain numpy columns."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, EventColumns, Int8, Int32, Int64
from torch_tb_profiler.trace.constant_columns import rows_at
from torch_tb_profiler.trace.processes import number_processes


class OrderedSlices(Struct):
    """The slice columns ordered by (track, start, longer first, file order); the row is the id.

    ``end_ns`` is start + duration; ``new_id[row]`` is the id of the slice in row ``row`` of the
    file order. Absent ids are still :data:`~torch_tb_profiler.trace.columns.ABSENT`. ``launch`` is
    the id of the host slice that the format states as a slice's launch, -1 for none, ``owner`` that
    of the node it states as its owner; None if it states none. ``process_of_track`` is
    :func:`~torch_tb_profiler.trace.processes.number_processes`.
    """

    track: Int32
    category: Int8
    raw_category_code: Int32
    name_code: Int32
    start_ns: Int64
    dur_ns: Int64
    end_ns: Int64
    correlation: Int64
    external_id: Int64
    new_id: Int64
    launch: Int32 | None
    owner: Int32 | None
    process_of_track: Int32

    def ids_of(self, categories: tuple[Category, ...]) -> Int64:
        """Ids of the slices of these categories, ascending."""
        return np.flatnonzero(self.mask_of(categories))

    @property
    def has_several_processes(self) -> bool:
        """Whether the host threads belong to more than one process."""
        return bool(self.process_of_track.max(initial=0) > 0)

    @property
    def rows_in_file(self) -> Int64:
        """Per slice its row in the file order."""
        rows = np.empty(len(self.new_id), np.int64)
        rows[self.new_id] = np.arange(len(rows))
        return rows

    def forget_file(self) -> None:
        """Free the mapping between slices and file rows, once it is no longer needed."""
        self.new_id = np.empty(0, np.int64)
        self.launch = self.owner = None

    def process_of(self, ids: Int64) -> Int32:
        """The processes of host slices."""
        return self.process_on(self.track[ids])

    def process_on(self, tracks: Int32) -> Int32:
        """The processes of host ``tracks``, one each."""
        if not self.has_several_processes:
            return np.zeros(len(tracks), np.int32)
        process: Int32 = self.process_of_track[tracks]
        return process

    def mask_of(self, categories: tuple[Category, ...]) -> Bools:
        """Mask of the slices of these categories."""
        wanted = np.zeros(256, np.bool_)
        wanted[list(categories)] = True
        mask: Bools = wanted[self.category.view(np.uint8)]
        return mask


def order_slices(events: EventColumns) -> OrderedSlices:
    """The slices of ``events`` in trace order; they are taken out of it."""
    table = events.tables.pop("slices")
    order = _slice_order(table["track"], table["start_ns"], table["dur_ns"])
    new_id = np.empty(len(order), np.int64)
    new_id[order] = np.arange(len(order))
    ordered = {name: rows_at(table.pop(name), order) for name in tuple(table)}
    launch, owner = events.launch, events.owner
    events.launch = events.owner = None
    return OrderedSlices(
        **ordered,
        end_ns=ordered["start_ns"] + ordered["dur_ns"],
        new_id=new_id,
        launch=_ids_of_rows(launch, order, new_id),
        owner=_ids_of_rows(owner, order, new_id),
        process_of_track=number_processes(events.tracks, ordered["track"], ordered["category"]),
    )


def _ids_of_rows(row: Int64 | Int32 | None, order: Int64, new_id: Int64) -> Int32 | None:
    """Per slice the id of the slice in the row that the format states, -1 for none."""
    if row is None:
        return None
    ids = np.full(len(order), -1, np.int32)
    known = np.flatnonzero((row >= 0) & (row < len(new_id)))
    ids[new_id[known]] = new_id[row[known]]
    return ids


def _slice_order(track: Int32, start_ns: Int64, dur_ns: Int64) -> Int64:
    """Order by (track, start, −duration, row): one sort by a joint key, then the ties.

    A joint key of (track, start) sorts ten times faster than a lexical sort of three columns; only
    the few rows that tie in it need the slow sort.
    """
    if len(track) == 0:
        return np.empty(0, np.int64)
    first = int(start_ns.min())
    span = int(start_ns.max()) - first + 1
    if span * (int(track.max()) + 1) >= 2**63:
        return np.lexsort((-dur_ns, start_ns, track))
    key = track.astype(np.int64) * span + (start_ns - first)
    order = np.argsort(key)
    ordered = key[order]
    same = ordered[1:] == ordered[:-1]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    rows = order[tied]
    order[tied] = rows[np.lexsort((rows, -dur_ns[rows], key[rows]))]
    return order
