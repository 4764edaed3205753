"""Calls of code compiled by ``torch.compile``: regions, Inductor graphs, autograd functions.

Definitions: ``docs/views-compiled.md#regions``.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.categories import NODE_CATEGORIES
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

REGION, GRAPH, FORWARD, BACKWARD = range(4)
KINDS: Final = ("region", "inductor graph", "forward function", "backward function")
"""Kinds of compiled code, by code."""

_PATTERN = re.compile(
    r"(?P<region>Torch-Compiled Region(: (?P<id>\d+/\d+).*)?)"
    r"|## Call CompiledFxGraph (?P<key>\S+) ##"
    r"|(?P<function>CompiledFunction)(?P<backward>Backward)?"
)
REGION_ID = re.compile(r"(\d+)/(\d+)")
"""Id of the frame (a function's code), and how often it was compiled before."""


def compiled_kind(name: str) -> int:
    """The kind of compiled code by a slice's name, an index into :data:`KINDS`; -1 for none."""
    match = _PATTERN.fullmatch(name)
    if match is None:
        return -1
    if match["region"]:
        return REGION
    if match["key"]:
        return GRAPH
    return BACKWARD if match["backward"] else FORWARD


def region_id(name: str) -> str | None:
    """``"0/1"`` of the name of a region."""
    match = _PATTERN.fullmatch(name)
    return match["id"] if match else None


class CompiledCalls(Struct, frozen=True, eq=False):
    """Calls of compiled code, in order of slice id.

    Attributes:
        slice: The slices.
        kind: Index into :data:`KINDS`.
        inside: The slice of the call of the same kind around it, -1 for none.
        is_resumed: Whether it is a region inside another one whose code it resumes after a graph
            break.
        self_ns: Host time without calls of the same kind inside.
        device_ns: Device work launched inside it and not in a call of the same kind inside it.
        kernels: Number of kernels in that work.
    """

    slice: Int64
    kind: Int8
    inside: Int64
    is_resumed: Bools
    self_ns: Int64
    device_ns: Int64
    kernels: Int64


@per_trace
def compiled_calls(trace: Trace) -> CompiledCalls:
    """The calls of compiled code of a trace."""
    slices = trace.slices
    names = slices["name_code"].to_numpy()
    kind_of = codes.map_names(trace, names, compiled_kind, np.int8)
    rows = np.flatnonzero(kind_of >= 0)
    rows = rows[np.isin(slices["category"].to_numpy()[rows], NODE_CATEGORIES)]
    kind = kind_of[rows]
    dur = slices["dur_ns"].to_numpy()
    inside = np.full(len(rows), -1)
    self_ns = dur[rows].copy()
    device_ns, kernels = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    parent, work = indices(slices["parent"]), trace.device_work
    node, is_kernel = indices(work["node"]), kernel_kinds(trace).is_kernel
    call_of = np.full(slices.height + 1, -1)
    call_of[rows] = np.arange(len(rows))
    for each in distinct_values(kind).tolist():
        mine = np.flatnonzero(kind == each)
        marked = np.zeros(slices.height, np.bool_)
        marked[rows[mine]] = True
        nearest = np.append(nearest_marked(parent, marked), -1)
        around = nearest[parent[rows[mine]]]
        inside[mine] = around
        np.subtract.at(self_ns, call_of[around[around >= 0]], dur[rows[mine]][around >= 0])
        call = call_of[nearest[node]]
        np.add.at(device_ns, call[call >= 0], work["dur_ns"].to_numpy()[call >= 0])
        np.add.at(kernels, call[(call >= 0) & is_kernel], 1)
    is_resumed = (kind == REGION) & (inside >= 0) & (names[rows] != names[inside])
    return CompiledCalls(rows, kind, inside, is_resumed, np.maximum(self_ns, 0), device_ns, kernels)


@per_trace
def resumed_frames(trace: Trace) -> pl.DataFrame:
    """Frames that resume after a graph break, recognized by the name that Dynamo gives them.

    Columns: slice (of the frame), code (name of the frame). Empty without Python frames.
    """
    names = trace.slices["name_code"].to_numpy()
    is_resumed = codes.names_match(trace, names, lambda name: RESUMED in name)
    rows = np.flatnonzero(is_resumed)
    return pl.DataFrame({"slice": rows, "code": names[rows]})


RESUMED = "torch_dynamo_resume_in_"
_RESUMED = re.compile(RESUMED + r"(?P<function>.+)_at_(?P<line>\d+)")


def break_location(name: str) -> tuple[str, int] | None:
    """Function and line of the graph break, from the name of such a frame."""
    match = _RESUMED.search(name)
    return (match["function"], int(match["line"])) if match else None
