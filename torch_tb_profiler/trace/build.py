"""From event columns to a trace: order, nest, link, sum, step."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.categories import NODE_CATEGORIES, PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import ABSENT, EventColumns, Int64
from torch_tb_profiler.trace.details import build_device_work, build_memory, by_slice
from torch_tb_profiler.trace.devices import build_devices, build_tracks
from torch_tb_profiler.trace.links import Links, link
from torch_tb_profiler.trace.model import OPERATORS, SLICES, Trace, TraceMeta
from torch_tb_profiler.trace.nesting import Forest, nest
from torch_tb_profiler.trace.nulls import NO_LINK, table_to_frame, to_frame
from torch_tb_profiler.trace.ordering import OrderedSlices, order_slices
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.steps import build_steps
from torch_tb_profiler.trace.sums import absorb, device_sums, host_self, resolve


def build_trace(events: EventColumns) -> Trace:
    """The trace of what an importer read. ``events`` is not changed and may be dropped after.

    Nothing an importer handed over is dropped here; what does not fit (crossing slices, orphans,
    ids shared by several calls …) is counted in ``Trace.quality``.
    """
    quality = QualityReport()
    quality.merge(events.quality)
    slices = order_slices(events)
    tolerance = events.time_unit_ns
    nodes = nest(slices, slices.ids_of(NODE_CATEGORIES), tolerance)
    frames = nest(slices, slices.ids_of(PYTHON_CATEGORIES), tolerance)
    links = link(slices, nodes, events.strings, quality)
    absorber = absorb(slices, nodes)
    owner = resolve(absorber, links.work_owner)
    tracks = build_tracks(events, slices)
    device_work = build_device_work(events, slices, links, owner, tracks)
    steps, step = build_steps(slices, links, events.strings, quality)
    tables = events.tables
    used = device_work["device"].drop_nulls().unique().to_numpy()
    return Trace(
        meta=_meta(events, slices),
        strings=np.array(events.strings, dtype=object),
        slices=_slice_frame(slices, nodes, frames, links, absorber, owner, step),
        device_work=device_work,
        operators=_operators(events, slices),
        python=table_to_frame(by_slice(tables["python"], slices.new_id)),
        collectives=table_to_frame(by_slice(tables["collective"], slices.new_id)),
        memory=build_memory(events, nodes, frames, absorber),
        flows=table_to_frame(tables["flows"]),
        counters=table_to_frame(tables["counters"]),
        instants=table_to_frame(tables["instants"]),
        steps=steps,
        devices=build_devices(events.header, used, quality),
        tracks=tracks,
        quality=quality,
    )


def _slice_frame(
    slices: OrderedSlices,
    nodes: Forest,
    frames: Forest,
    links: Links,
    absorber: Int64,
    owner: Int64,
    step: Int64,
) -> pl.DataFrame:
    size = len(slices.start_ns)
    parent, depth = np.full((2, size), NO_LINK)
    for forest in (nodes, frames):
        parent[forest.ids] = forest.parent
        depth[forest.ids] = forest.depth
    parent[links.calls] = resolve(absorber, links.call_owner)
    frame = np.full(size, NO_LINK)
    on_host = np.concatenate((nodes.ids, links.calls))
    frame[on_host] = frames.innermost(slices.track[on_host], slices.start_ns[on_host])
    lane = np.zeros(size, np.int32)
    lane[nodes.ids] = nodes.crossing
    device_self, device_total = device_sums(slices, nodes, links.work, owner)
    not_node = ~slices.mask_of(NODE_CATEGORIES)
    host_self_ns = host_self(slices, nodes, links, absorber)
    for column in (host_self_ns, device_self, device_total):
        column[not_node] = ABSENT
    columns = {
        "id": np.arange(size),
        "parent": parent,
        "depth": depth,
        "frame": frame,
        "lane": lane,
        "absorbed_into": absorber,
        "step": step,
        "self_ns": host_self_ns,
        "device_self_ns": device_self,
        "device_total_ns": device_total,
    }
    columns |= {name: getattr(slices, name) for name in SLICES if name not in columns}
    absent = dict.fromkeys(("parent", "depth", "frame", "absorbed_into", "step"), NO_LINK)
    absent["raw_category_code"] = NO_LINK
    for name in ("self_ns", "device_self_ns", "device_total_ns", "correlation", "external_id"):
        absent[name] = int(ABSENT)
    return to_frame(columns, SLICES, absent)


def _operators(events: EventColumns, slices: OrderedSlices) -> pl.DataFrame:
    table = by_slice(events.tables["operator"], slices.new_id)
    return table_to_frame(table).with_columns(pl.lit(None, OPERATORS["forward"]).alias("forward"))


def _meta(events: EventColumns, slices: OrderedSlices) -> TraceMeta:
    spans = slices.ids_of((Category.SPAN,))
    any_slice, any_span = len(slices.start_ns) > 0, len(spans) > 0
    return TraceMeta(
        format=events.format,
        base_ns=events.base_ns,
        time_unit_ns=events.time_unit_ns,
        start_ns=int(slices.start_ns.min()) if any_slice else 0,
        end_ns=int(slices.end_ns.max()) if any_slice else 0,
        span_start_ns=int(slices.start_ns[spans].min()) if any_span else None,
        span_end_ns=int(slices.end_ns[spans].max()) if any_span else None,
        header=events.header,
    )
