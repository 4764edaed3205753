"""When a program compiled: what Dynamo and Inductor record of their own work.

Definitions: ``docs/views-compiled.md#compilations``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.kernels.compiled.regions import REGION_ID, region_id
from torch_tb_profiler.knowledge.host_marks import mark_kind
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, NODE_CATEGORIES
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

PARTS: Final = ("tracing", "aot", "inductor", "code", "guards")
"""What a compilation is made of, as it is timed."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Compilations:
    """Compilations inside no other one, in order of start.

    Attributes:
        slice: The slice of each.
        region: Which region it made (``"0/1"``), None where nothing tells.
        is_backward: Whether it compiled a backward pass by itself.
        attempts: How often Dynamo began, 0 where it does not say: a graph break makes it begin
            again.
        part_ns: Per part (:data:`PARTS`) and compilation the time in it, without parts inside.
        graphs: Graphs that Inductor was given.
        generated: Those of them it generated code for: the others were in its cache.
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
        """Which compiled the code of a function that was compiled before."""
        return np.array([is_recompiled(region) for region in self.region], np.bool_)


def is_recompiled(region: str | None) -> bool:
    """Whether a region is of a function that was compiled for other inputs before."""
    found = REGION_ID.fullmatch(region or "")
    return found is not None and int(found[2]) > 0


@per_trace
def compilations(trace: Trace) -> Compilations:
    """The compilations of a trace; made once."""
    slices = trace.slices
    names = slices["name_code"].to_numpy()
    is_mark = codes.map_names(trace, names, lambda name: mark_kind(name) == "compilation", np.bool_)
    is_mark &= _are_of_host(slices["category"].to_numpy(), is_mark)
    start = slices["start_ns"].to_numpy()
    outer = _outermost(trace, np.flatnonzero(is_mark))
    outer = outer[np.argsort(start[outer], kind="stable")]
    is_outer = np.zeros(slices.height, np.bool_)
    is_outer[outer] = True
    place = np.full(slices.height + 1, -1)
    place[outer] = np.arange(len(outer))
    parent = indices(slices["parent"])
    said = np.flatnonzero(codes.map_names(trace, names, _tells, np.bool_)) if len(outer) else outer
    of = place[np.append(nearest_marked(parent, is_outer), -1)[said]]
    said, of = said[of >= 0], of[of >= 0]
    told, attempts, generated = _ids(trace, said, of, len(outer))
    part = codes.map_names(trace, names[said], _part, np.int8)
    is_part = part >= 0
    part_ns = _part_times(trace, parent, (said[is_part], part[is_part], of[is_part]), len(outer))
    graphs = np.bincount(of[part == PARTS.index("inductor")], minlength=len(outer))
    _tell_by_call(trace, outer, told)
    backward = np.isin([str(trace.strings[code]) for code in names[outer]], _BACKWARD)
    return Compilations(outer, told, backward, attempts, part_ns, graphs, generated)


def _are_of_host(category: Int8, is_mark: Bools) -> Bools:
    """Which slices count: timed ranges, and only where there are none frames of Python, which lie
    in a tree of their own."""
    is_node = np.isin(category, NODE_CATEGORIES)
    return is_node if (is_node & is_mark).any() else ~np.isin(category, DEVICE_CATEGORIES)


def _ids(trace: Trace, said: Int64, of: Int64, count: int) -> tuple[list[str | None], Int64, Int64]:
    """Per compilation its region, attempts and graphs that code was made for, of slices inside."""
    region: list[str | None] = [None] * count
    attempts, generated = np.zeros(count, np.int64), np.zeros(count, np.int64)
    names = trace.slices["name_code"].to_numpy()[said]
    for code, at in zip(names.tolist(), of.tolist(), strict=True):
        name = str(trace.strings[code])
        generated[at] += name == _CODEGEN
        found = _ID.search(name)
        if found is not None and region[at] is None:
            region[at] = found["id"]
        attempt = _ATTEMPT.fullmatch(name)
        if attempt is not None:
            attempts[at] = max(attempts[at], int(attempt["number"]) + 1)
    return region, attempts, generated


def _part_times(trace: Trace, parent: Int64, said: tuple[Int64, Int8, Int64], count: int) -> Int64:
    """Per part and compilation the time of slices of the part, without parts inside them; of
    slices, their parts and compilations."""
    rows, part, of = said
    total = np.zeros((len(PARTS), count), np.int64)
    dur = trace.slices["dur_ns"].to_numpy()[rows]
    np.add.at(total, (part, of), dur)
    is_part = np.zeros(trace.slices.height, np.bool_)
    is_part[rows] = True
    place = np.full(trace.slices.height + 1, -1)
    place[rows] = np.arange(len(rows))
    around = place[np.append(nearest_marked(parent, is_part), -1)[parent[rows]]]
    inside = around >= 0
    np.subtract.at(total, (part[around[inside]], of[inside]), dur[inside])
    return np.maximum(total, 0)


def _outermost(trace: Trace, rows: Int64) -> Int64:
    """Those of some slices that begin in none before them on their track; in order of id, so of
    track and start."""
    track = trace.slices["track"].to_numpy()[rows].astype(np.int64)
    start = trace.slices["start_ns"].to_numpy()[rows]
    end = start + trace.slices["dur_ns"].to_numpy()[rows]
    kept: list[int] = []
    reach, current = 0, -1
    for row, place, begin, stop in zip(
        rows.tolist(), track.tolist(), start.tolist(), end.tolist(), strict=True
    ):
        if place != current or begin >= reach:
            kept.append(row)
            reach, current = stop, place
    return np.array(kept, np.int64)


def _tells(name: str) -> bool:
    """Whether a slice inside a compilation tells something of it."""
    is_timed = _part(name) >= 0 or name == _CODEGEN
    return is_timed or _ID.search(name) is not None or _ATTEMPT.fullmatch(name) is not None


def _part(name: str) -> int:
    timed = _TIMED.fullmatch(name)
    part = _PART_OF.get(timed["name"]) if timed else None
    return PARTS.index(part) if part is not None else -1


def _tell_by_call(trace: Trace, outer: Int64, told: list[str | None]) -> None:
    """Recorders before torch 2.7 write no ids: a compilation made the region that is called next
    on its thread."""
    missing = [at for at, region in enumerate(told) if region is None]
    if not missing:
        return
    names = trace.slices["name_code"].to_numpy()
    regions = np.flatnonzero(
        codes.map_names(trace, names, lambda name: region_id(name) is not None, np.bool_)
    )
    track, start = trace.slices["track"].to_numpy(), trace.slices["start_ns"].to_numpy()
    end = start + trace.slices["dur_ns"].to_numpy()
    for at in missing:
        row = outer[at]
        after = regions[(track[regions] == track[row]) & (start[regions] >= end[row])]
        if len(after):
            told[at] = region_id(str(trace.strings[names[after[start[after].argmin()]]]))
