"""Compilations of a program, as Dynamo and Inductor record them.

Definitions: ``docs/views-compiled.md#compilations``.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.kernels.compiled.regions import REGION_ID, region_id
from torch_tb_profiler.knowledge.host_marks import mark_kind
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, NODE_CATEGORIES
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

PARTS: Final = ("tracing", "aot", "inductor", "code", "guards")
"""The timed parts of a compilation."""

_PART_OF = {
    "bytecode_tracing": "tracing",
    "OutputGraph.call_user_compiler": "aot",
    "create_aot_dispatcher_function": "aot",
    "compile_fx_inner": "inductor",
    "async_compile.wait": "code",
    "build_guards": "guards",
}
_TIMED = re.compile(r"(?P<name>.+) \(dynamo_timed\)")
_ID = re.compile(r"compile_id=\D{0,2}(?P<id>\d+/\d+)")
_ATTEMPT = re.compile(r"compile_attempt_(?P<number>\d+) \(dynamo_timed\)")
_CODEGEN = "fx_codegen_and_compile (dynamo_timed)"
_BACKWARD = ("entire_backward_compile", "backward._backward_impl (dynamo_timed)")


class Compilations(Struct, frozen=True, eq=False):
    """Outermost compilations, in order of start.

    Attributes:
        slice: The slice of each.
        region: The region that it compiled (``"0/1"``), None where unknown.
        is_backward: Whether it compiled a backward pass by itself.
        attempts: Attempts of Dynamo, 0 where unknown: a graph break makes it start again.
        part_ns: Per part (:data:`PARTS`) and compilation the time in it, without parts inside.
        graphs: Graphs passed to Inductor.
        generated: Graphs that it generated code for; the others were in its cache.
    """

    slice: Int64
    region: list[str | None]
    is_backward: Bools
    attempts: Int64
    part_ns: Int64
    graphs: Int64
    generated: Int64

    @property
    def is_again(self) -> Bools:
        """Which ones recompile a function."""
        return np.array([is_recompiled(region) for region in self.region], np.bool_)


def is_recompiled(region: str | None) -> bool:
    """Whether a region is of a function that was compiled for other inputs before."""
    match = REGION_ID.fullmatch(region or "")
    return match is not None and int(match[2]) > 0


@per_trace
def compilations(trace: Trace) -> Compilations:
    """The compilations of a trace."""
    slices = trace.slices
    names = slices["name_code"].to_numpy()
    is_mark = codes.names_match(trace, names, lambda name: mark_kind(name) == "compilation")
    is_mark &= _counts_as_mark(slices["category"].to_numpy(), is_mark)
    start = slices["start_ns"].to_numpy()
    outer = _outermost(trace, np.flatnonzero(is_mark))
    outer = outer[np.argsort(start[outer], kind="stable")]
    is_outer = np.zeros(slices.height, np.bool_)
    is_outer[outer] = True
    index_of = np.full(slices.height + 1, -1)
    index_of[outer] = np.arange(len(outer))
    parent = indices(slices["parent"])
    rows = np.flatnonzero(codes.names_match(trace, names, _is_detail)) if len(outer) else outer
    within = index_of[np.append(nearest_marked(parent, is_outer), -1)[rows]]
    rows, within = rows[within >= 0], within[within >= 0]
    region, attempts, generated = _parse_details(trace, rows, within, len(outer))
    part = codes.map_names(trace, names[rows], _part, np.int8)
    is_part = part >= 0
    timed = rows[is_part], part[is_part], within[is_part]
    part_ns = _part_times(trace, parent, timed, len(outer))
    graphs = np.bincount(within[part == PARTS.index("inductor")], minlength=len(outer))
    _fill_regions_by_call(trace, outer, region)
    backward = np.isin([str(trace.strings[code]) for code in names[outer]], _BACKWARD)
    return Compilations(outer, region, backward, attempts, part_ns, graphs, generated)


def _counts_as_mark(category: Int8, is_mark: Bools) -> Bools:
    """Which slices count: timed ranges; Python frames, which are in a separate tree, only where
    there are no such ranges."""
    is_node = np.isin(category, NODE_CATEGORIES)
    return is_node if (is_node & is_mark).any() else ~np.isin(category, DEVICE_CATEGORIES)


def _parse_details(
    trace: Trace, rows: Int64, within: Int64, count: int
) -> tuple[list[str | None], Int64, Int64]:
    """Per compilation its region, attempts and graphs with generated code, from the slices
    ``rows`` in the compilations ``within``."""
    region: list[str | None] = [None] * count
    attempts, generated = np.zeros(count, np.int64), np.zeros(count, np.int64)
    names = trace.slices["name_code"].to_numpy()[rows]
    for code, index in zip(names.tolist(), within.tolist(), strict=True):
        name = str(trace.strings[code])
        generated[index] += name == _CODEGEN
        match = _ID.search(name)
        if match is not None and region[index] is None:
            region[index] = match["id"]
        attempt = _ATTEMPT.fullmatch(name)
        if attempt is not None:
            attempts[index] = max(attempts[index], int(attempt["number"]) + 1)
    return region, attempts, generated


def _part_times(trace: Trace, parent: Int64, timed: tuple[Int64, Int8, Int64], count: int) -> Int64:
    """Per part and compilation the time of slices of the part, without parts inside them.

    Args:
        trace: The recording.
        parent: Parent of each slice.
        timed: Slices, their parts and their compilations.
        count: Number of compilations.
    """
    rows, part, within = timed
    total = np.zeros((len(PARTS), count), np.int64)
    dur = trace.slices["dur_ns"].to_numpy()[rows]
    np.add.at(total, (part, within), dur)
    is_part = np.zeros(trace.slices.height, np.bool_)
    is_part[rows] = True
    row_of = np.full(trace.slices.height + 1, -1)
    row_of[rows] = np.arange(len(rows))
    around = row_of[np.append(nearest_marked(parent, is_part), -1)[parent[rows]]]
    inside = around >= 0
    np.subtract.at(total, (part[around[inside]], within[inside]), dur[inside])
    return np.maximum(total, 0)


def _outermost(trace: Trace, rows: Int64) -> Int64:
    """The slices that do not start in an earlier one on their track; ``rows`` ascend, so they are
    sorted by track and start."""
    track = trace.slices["track"].to_numpy()[rows].astype(np.int64)
    start = trace.slices["start_ns"].to_numpy()[rows]
    end = start + trace.slices["dur_ns"].to_numpy()[rows]
    outermost: list[int] = []
    reach, current = 0, -1
    for row, number, begin, stop in zip(
        rows.tolist(), track.tolist(), start.tolist(), end.tolist(), strict=True
    ):
        if number != current or begin >= reach:
            outermost.append(row)
            reach, current = stop, number
    return np.array(outermost, np.int64)


def _is_detail(name: str) -> bool:
    """Whether a slice inside a compilation has its id, an attempt, or the time of a part."""
    is_timed = _part(name) >= 0 or name == _CODEGEN
    return is_timed or _ID.search(name) is not None or _ATTEMPT.fullmatch(name) is not None


def _part(name: str) -> int:
    timed = _TIMED.fullmatch(name)
    part = _PART_OF.get(timed["name"]) if timed else None
    return PARTS.index(part) if part is not None else -1


def _fill_regions_by_call(trace: Trace, outer: Int64, regions: list[str | None]) -> None:
    """Fill unknown regions: recorders before torch 2.7 write no ids, and a compilation belongs to
    the region that is called next on its thread."""
    missing = [index for index, region in enumerate(regions) if region is None]
    if not missing:
        return
    names = trace.slices["name_code"].to_numpy()
    calls = np.flatnonzero(
        codes.names_match(trace, names, lambda name: region_id(name) is not None)
    )
    track, start = trace.slices["track"].to_numpy(), trace.slices["start_ns"].to_numpy()
    end = start + trace.slices["dur_ns"].to_numpy()
    for index in missing:
        row = outer[index]
        after = calls[(track[calls] == track[row]) & (start[calls] >= end[row])]
        if len(after):
            regions[index] = region_id(str(trace.strings[names[after[start[after].argmin()]]]))
