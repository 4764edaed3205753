"""What ``torch.compile`` made, as it is called: regions, graphs of Inductor, autograd's functions.

Definitions: ``docs/views-compiled.md#regions``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.categories import NODE_CATEGORIES
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

REGION, GRAPH, FORWARD, BACKWARD = range(4)
KINDS: Final = ("region", "inductor graph", "forward function", "backward function")
"""What compiled code may be, by code."""

_PATTERN = re.compile(
    r"(?P<region>Torch-Compiled Region(: (?P<id>\d+/\d+).*)?)"
    r"|## Call CompiledFxGraph (?P<key>\S+) ##"
    r"|(?P<function>CompiledFunction)(?P<backward>Backward)?"
)
REGION_ID = re.compile(r"(\d+)/(\d+)")
"""Number of the frame (a function's code), and how often it was compiled before."""


def compiled_kind(name: str) -> int:
    """What compiled code a slice of this name is, a place in :data:`KINDS`; -1 for none."""
    found = _PATTERN.fullmatch(name)
    if found is None:
        return -1
    if found["region"]:
        return REGION
    if found["key"]:
        return GRAPH
    return BACKWARD if found["backward"] else FORWARD


def region_id(name: str) -> str | None:
    """``"0/1"`` of the name of a region."""
    found = _PATTERN.fullmatch(name)
    return found["id"] if found else None


@dataclass(frozen=True, slots=True, eq=False)
class CompiledCalls:
    """Calls of compiled code, in order of slice id.

    Attributes:
        slice: The slices.
        kind: Place in :data:`KINDS`.
        inside: The slice of the call of the same kind around it, -1 for none.
        is_resumed: Whether it is a region inside another one, whose code it goes on with after a
            graph break.
        self_ns: Time on the host without calls of the same kind inside.
        device_ns: Device work launched inside, but not inside another call of the same kind.
        kernels: Kernels among that.
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
    """The calls of compiled code of a trace; made once."""
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
    owner, is_kernel = indices(work["owner"]), kernel_kinds(trace).is_kernel
    place = np.full(slices.height + 1, -1)
    place[rows] = np.arange(len(rows))
    for each in np.unique(kind).tolist():
        mine = np.flatnonzero(kind == each)
        marked = np.zeros(slices.height, np.bool_)
        marked[rows[mine]] = True
        nearest = np.append(nearest_marked(parent, marked), -1)
        around = nearest[parent[rows[mine]]]
        inside[mine] = around
        np.subtract.at(self_ns, place[around[around >= 0]], dur[rows[mine]][around >= 0])
        at = place[nearest[owner]]
        np.add.at(device_ns, at[at >= 0], work["dur_ns"].to_numpy()[at >= 0])
        np.add.at(kernels, at[(at >= 0) & is_kernel], 1)
    is_resumed = (kind == REGION) & (inside >= 0) & (names[rows] != names[inside])
    return CompiledCalls(rows, kind, inside, is_resumed, np.maximum(self_ns, 0), device_ns, kernels)


@per_trace
def resumed_places(trace: Trace) -> pl.DataFrame:
    """Where code goes on after a graph break, as Dynamo names the functions that it makes of it.

    Columns: slice (of the frame), code (name of the frame). None without Python frames.
    """
    names = trace.slices["name_code"].to_numpy()
    is_resumed = codes.map_names(trace, names, lambda name: RESUMED in name, np.bool_)
    rows = np.flatnonzero(is_resumed)
    return pl.DataFrame({"slice": rows, "code": names[rows]})


RESUMED = "torch_dynamo_resume_in_"
_RESUMED = re.compile(RESUMED + r"(?P<function>.+)_at_(?P<line>\d+)")


def resumed_place(name: str) -> tuple[str, int] | None:
    """Function and line of the break, of the name of such a frame."""
    found = _RESUMED.search(name)
    return (found["function"], int(found["line"])) if found else None
