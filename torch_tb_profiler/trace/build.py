"""Build a trace from event columns: order, nest, link, sum, find steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.trace.categories import (
    DEVICE_WORK_CATEGORIES,
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.columns import ABSENT, Bools, EventColumns, Int32, Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant, neighbours
from torch_tb_profiler.trace.detail_tables import (
    build_device_work,
    build_memory,
    build_operators,
    by_slice,
    count_shared_memory,
    drop_impossible_measures,
)
from torch_tb_profiler.trace.device_numbers import unify_device_numbers
from torch_tb_profiler.trace.devices import (
    WorkLocations,
    build_devices,
    build_tracks,
    locate_work,
)
from torch_tb_profiler.trace.info import DeviceInfo
from torch_tb_profiler.trace.lanes import flat_lanes
from torch_tb_profiler.trace.levels import deep_slices, leave_out
from torch_tb_profiler.trace.links import Links, build_links
from torch_tb_profiler.trace.model import SLICES, Trace, TraceMeta
from torch_tb_profiler.trace.nesting import Forest, nest
from torch_tb_profiler.trace.nulls import NO_LINK, table_to_frame, to_frame
from torch_tb_profiler.trace.ordering import OrderedSlices, order_slices
from torch_tb_profiler.trace.plausible_times import limit_times
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.steps import build_steps
from torch_tb_profiler.trace.sums import (
    absorb,
    device_of_inner_ranges,
    device_sums,
    host_self,
    resolve,
)

_LINK_COLUMNS = ("raw_category_code", "frame", "absorbed_into", "step")
_NODE_COLUMNS = ("self_ns", "device_self_ns", "device_total_ns")
_ID_COLUMNS = ("correlation", "external_id")
_USER_RANGES = (Category.STEP, Category.ANNOTATION, Category.SPAN)


class _Structure(Struct, frozen=True):
    """Ordered slices, their trees and links: the input of all tables."""

    slices: OrderedSlices
    nodes: Forest
    frames: Forest
    ranges: Forest
    links: Links
    absorber: Int64

    @property
    def forests(self) -> tuple[Forest, ...]:
        """How slices of hosts are nested, and ranges on devices."""
        return self.nodes, self.frames, self.links.calls.within, self.ranges

    def contents(self) -> Int64:
        """The innermost node around each call and each work's launch, and the innermost frame
        around each node and call."""
        calls, work = self.links.calls, self.links.work
        on_host = np.concatenate((self.nodes.ids, calls.ids))
        track, start_ns = self.slices.track[on_host], self.slices.start_ns[on_host]
        around = self.frames.innermost(track, start_ns)
        return np.concatenate((calls.enclosing, work.node, around))


def build_trace(events: EventColumns) -> Trace:
    """Build the trace of an importer's events. ``events`` is consumed: its tables are taken out.

    Nothing that an importer delivered is dropped here; irregularities (crossing slices, orphans,
    ids shared by several calls …) are counted in ``Trace.quality``.
    """
    quality = QualityReport()
    quality.merge(events.quality)
    limit_times(events, quality)
    slices = order_slices(events)
    tracks, locations, structure = _structure(events, slices, quality)
    deep = deep_slices(structure.forests, len(slices.start_ns), events.budget, structure.contents)
    if deep is not None:
        quality = QualityReport()
        quality.merge(events.quality)
        slices = leave_out(events, slices, deep, quality)
        tracks, locations, structure = _structure(events, slices, quality)
    work = structure.links.work
    device_work = drop_impossible_measures(
        build_device_work(events, slices, work, locations), quality
    )
    del locations
    steps, step = build_steps(
        slices, work, events.strings, quality, has_execution=events.format != "snapshot"
    )
    tables = events.tables
    operators = build_operators(events, slices)
    memory, declared = _memory(events, structure, device_work, quality)
    used = device_work["device"].unique().drop_nulls().to_list()
    python = table_to_frame(by_slice(tables.pop("python"), slices.new_id))
    collectives = table_to_frame(by_slice(tables.pop("collective"), slices.new_id))
    stated = table_to_frame(by_slice(tables.pop("stated"), slices.new_id))
    arguments = table_to_frame(by_slice(tables.pop("arguments"), slices.new_id))
    held = tables.pop("held_memory")
    held["slice"] = np.append(slices.new_id, ABSENT)[np.maximum(held["slice"], -1)]
    slices.forget_file()
    meta = _meta(events, slices)
    structure = replace(structure, nodes=structure.nodes.without_lookup())
    columns, absent = _slice_columns(structure, step, events.time_unit_ns, quality)
    del structure, work, slices, step  # freed before the frame is built
    return Trace(
        meta=meta,
        strings=np.array(events.strings, dtype=object),
        slices=_slice_frame(columns, absent),
        device_work=device_work,
        operators=operators,
        python=python,
        collectives=collectives,
        stated=stated,
        memory=memory,
        held_memory=table_to_frame(held),
        flows=table_to_frame(tables.pop("flows")),
        counters=table_to_frame(tables.pop("counters")),
        instants=table_to_frame(tables.pop("instants")),
        samples=table_to_frame(tables.pop("samples")),
        arguments=arguments,
        steps=steps,
        devices=build_devices(declared, used, quality),
        tracks=tracks,
        quality=quality,
        side={table.name: table for table in events.side},
    )


def _memory(
    events: EventColumns, structure: _Structure, device_work: pl.DataFrame, quality: QualityReport
) -> tuple[pl.DataFrame, tuple[DeviceInfo, ...]]:
    """The memory events and the declared devices, both with the device numbers of kernels."""
    slices = structure.slices
    count_shared_memory(events.tables["memory"], slices, quality)
    memory = build_memory(events, structure.nodes, structure.frames, structure.absorber)
    processes = slices.process_on(memory["track"].to_numpy()), structure.links.work.process
    return unify_device_numbers(memory, device_work, processes, events.info, quality)


def _structure(
    events: EventColumns, slices: OrderedSlices, quality: QualityReport
) -> tuple[pl.DataFrame, WorkLocations, _Structure]:
    """Nest and link the slices; owners are those after absorption. With the tracks, and where the
    work of devices ran."""
    tracks = build_tracks(events, slices)
    locations = locate_work(
        slices, events.tables["device"], tracks, slices.ids_of(DEVICE_WORK_CATEGORIES)
    )
    tolerance = events.time_unit_ns
    ranges = nest(
        slices, slices.ids_of((Category.DEVICE_ANNOTATION,)), tolerance, is_searchable=False
    )
    nodes = nest(slices, slices.ids_of(NODE_CATEGORIES), tolerance)
    frames = nest(slices, slices.ids_of(PYTHON_CATEGORIES), tolerance)
    links = build_links(
        slices,
        nodes,
        events.strings,
        locations.device_index,
        tolerance_ns=tolerance,
        quality=quality,
    )
    absorber = absorb(slices, nodes)
    owner = resolve(absorber, links.work.owner)
    links = Links(
        calls=replace(links.calls, owner=resolve(absorber, links.calls.owner)),
        work=replace(
            links.work,
            owner=owner,
            node=owner
            if links.work.node is links.work.owner
            else resolve(absorber, links.work.node),
        ),
    )
    return tracks, locations, _Structure(slices, nodes, frames, ranges, links, absorber)


def _slice_columns(
    structure: _Structure, step: Int64, tolerance_ns: int, quality: QualityReport
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Bools]]:
    """All columns of the ``slices`` table except ``id``, and the rows in which some have no
    value: the pages of those rows are never written, and so take no memory."""
    slices, nodes, calls = structure.slices, structure.nodes, structure.links.calls
    tree, absent = _tree_columns(structure, tolerance_ns, quality)
    columns: dict[str, npt.NDArray[Any]] = {
        "self_ns": host_self(slices, nodes, calls, structure.absorber),
        **tree,
        "frame": _frame_column(structure),
        "absorbed_into": structure.absorber,
        "step": step,
    }
    work = structure.links.work
    own_ns, total_ns = device_sums(slices, nodes, work.ids, work.owner)
    columns["device_self_ns"] = own_ns
    of_inner_ns = device_of_inner_ranges(slices, nodes, work)
    columns["device_total_ns"] = total_ns if is_constant(of_inner_ns) else total_ns + of_inner_ns
    absent |= dict.fromkeys(_NODE_COLUMNS, ~slices.mask_of(NODE_CATEGORIES))
    given = {name: getattr(slices, name) for name in SLICES if name not in (*columns, "id")}
    return columns | given, absent


def _slice_frame(columns: dict[str, npt.NDArray[Any]], absent: dict[str, Bools]) -> pl.DataFrame:
    """The ``slices`` table from its columns, which are taken out of the argument."""
    columns["id"] = np.arange(len(columns["start_ns"]))
    markers = dict.fromkeys(_LINK_COLUMNS, NO_LINK) | dict.fromkeys(_ID_COLUMNS, int(ABSENT))
    return to_frame(columns, SLICES, {**markers, **absent})


def _frame_column(structure: _Structure) -> Int64:
    """The innermost python frame around each node and call."""
    slices, frames = structure.slices, structure.frames
    size = len(slices.start_ns)
    if not len(frames.ids):
        return constant(NO_LINK, size, np.int64)
    column = np.full(size, NO_LINK)
    on_host = np.concatenate((structure.nodes.ids, structure.links.calls.ids))
    column[on_host] = frames.innermost(slices.track[on_host], slices.start_ns[on_host])
    return column


def _tree_columns(
    structure: _Structure, tolerance_ns: int, quality: QualityReport
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Bools]]:
    """Parent, depth and lane of every slice, and the rows without a parent and without a depth;
    overlaps are counted."""
    slices, calls = structure.slices, structure.links.calls
    size = len(slices.start_ns)
    parent, depth, lane = (
        np.zeros(size, np.int64),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
    )
    no_parent, no_depth = np.ones(size, np.bool_), np.ones(size, np.bool_)
    for forest in structure.forests:
        parent[forest.ids], depth[forest.ids] = forest.parent, forest.depth
        no_parent[forest.ids], no_depth[forest.ids] = forest.parent < 0, False
        _add_lanes(lane, forest.ids, forest.lane)
        quality.add("overlapping_slices", forest.crossing_count)
    parent[calls.ids], no_parent[calls.ids] = calls.owner, calls.owner < 0
    depth[calls.ids] += np.where(calls.enclosing >= 0, depth[calls.enclosing] + 1, 0)
    _add_lanes(lane, calls.ids, np.where(calls.enclosing >= 0, lane[calls.enclosing], 0))
    work = structure.links.work.ids
    at = neighbours(work)
    of_work = flat_lanes(slices.track[at], slices.start_ns[at], slices.end_ns[at], tolerance_ns)
    _add_lanes(lane, work, of_work)
    quality.add("overlapping_slices", int((of_work > 0).sum()))
    columns: dict[str, npt.NDArray[Any]] = {"parent": parent, "depth": depth, "lane": lane}
    return columns, {"parent": no_parent, "depth": no_depth}


def _add_lanes(lane: Int32, ids: Int64, added: Int32) -> None:
    """Add lanes in place; memory of slices in lane 0 is not written."""
    rows = np.flatnonzero(added)
    lane[ids[rows]] += added[rows]


def _meta(events: EventColumns, slices: OrderedSlices) -> TraceMeta:
    spans = slices.ids_of((Category.SPAN,))
    any_span = len(spans) > 0
    start_ns, end_ns = _bounds(events, slices)
    return TraceMeta(
        format=events.format,
        base_ns=events.base_ns,
        time_unit_ns=events.time_unit_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        span_start_ns=int(slices.start_ns[spans].min()) if any_span else None,
        span_end_ns=int(slices.end_ns[spans].max()) if any_span else None,
        info=events.info,
    )


def _bounds(events: EventColumns, slices: OrderedSlices) -> tuple[int, int]:
    """First start and last end of the slices. A memory snapshot has user ranges alone, which may
    begin long after its events: these are the recording."""
    starts, ends = [slices.start_ns], [slices.end_ns]
    if len(slices.ids_of(_USER_RANGES)) == len(slices.start_ns):
        of_snapshot = [each.frame for each in events.side if each.name == "snapshot_events"]
        times = [frame["time_ns"].drop_nulls().to_numpy() for frame in of_snapshot]
        starts, ends = starts + times, ends + times
    start, end = np.concatenate(starts), np.concatenate(ends)
    return (int(start.min()), int(end.max())) if len(start) else (0, 0)
