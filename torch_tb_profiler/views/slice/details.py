"""One slice for people: times, place, arguments, call stack, and what it is linked to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.kernels.graphs.events import graph_events
from torch_tb_profiler.analysis.operators.call_stacks import Frame, frames_of
from torch_tb_profiler.analysis.operators.tensor_flow import (
    operator_tensors,
    producers,
    readers,
)
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds

MAX_LINKED = 100
"""Linked slices listed by name; one graph launch may own thousands. The count is exact."""

_PLUMBING = frozenset({"slice", "category", "name_code", "start_ns", "dur_ns", "launch", "owner"})
"""Columns of the detail tables that are not arguments of the event."""

_ARGUMENT_TABLES = ("operators", "device_work", "python", "collectives")


class LinkedSlice(Struct, frozen=True):
    """A slice at the other end of a link.

    ``short_name`` where its name is that of a kernel, ``demangled_name`` where that is mangled.
    """

    id: int
    name: str | None
    short_name: str | None
    demangled_name: str | None


class LinkedSlices(Struct, frozen=True):
    """Slices that one is linked to in one way: how many, and the first hundred."""

    count: int
    slices: list[LinkedSlice]


class SliceLinks(Struct, frozen=True):
    """What a slice is linked to, by kind of link."""

    parent: LinkedSlices
    absorbed_into: LinkedSlices
    frame: LinkedSlices
    children: LinkedSlices
    launch: LinkedSlices
    owner: LinkedSlices
    launched: LinkedSlices
    device_work: LinkedSlices
    forward: LinkedSlices
    backward: LinkedSlices
    produced_by: LinkedSlices
    read_by: LinkedSlices


class SliceTrack(Struct, frozen=True):
    """The row of the trace that a slice lies in, as the file names it."""

    track: int
    pid: str
    tid: str
    process_name: str | None
    process_label: str | None
    thread_name: str | None
    is_device: bool
    device: int | None
    stream: int | None
    sort_index: int


class SliceDetails(Struct, frozen=True):
    """One slice; ``no_device_time`` says why device times are null where some would be expected.

    Attributes:
        category: Its category in the model, in lower case.
        raw_category: As the file has it.
        depth: 0 is the root of its tree; None without a tree.
        lane: Above 0 where it overlaps its neighbours without nesting.
        step: Name of its step.
        args: Its arguments by name; those without a value are left out.
        call_stack: Innermost frame first.
        short_name: Where the name is that of a kernel.
        demangled_name: Where that is mangled.
    """

    id: int
    name: str | None
    category: str
    raw_category: str | None
    start_us: float
    dur_us: float
    self_us: float | None
    device_self_us: float | None
    device_total_us: float | None
    no_device_time: str | None
    depth: int | None
    lane: int
    step: str | None
    correlation: int | None
    external_id: int | None
    track: SliceTrack | None
    args: dict[str, object]
    call_stack: tuple[Frame, ...]
    links: SliceLinks
    short_name: str | None
    demangled_name: str | None


_TRACK_COLUMNS = list(SliceTrack.__struct_fields__)


def slice_details(trace: Trace, slice_id: int) -> SliceDetails:
    """Everything known about one slice.

    Args:
        trace: The trace.
        slice_id: Row of ``trace.slices``, which exists.
    """
    row = trace.slices.row(slice_id, named=True)
    has_device_time = row["device_total_ns"] is not None
    unknown = no_device_time(trace) if has_device_time else None
    names = kernel_names(trace)
    track = trace.tracks.filter(pl.col("track") == row["track"]).select(_TRACK_COLUMNS)
    return SliceDetails(
        id=slice_id,
        name=trace.text(row["name_code"]),
        category=Category(row["category"]).name.lower(),
        raw_category=trace.text(row["raw_category_code"]),
        start_us=exact_microseconds(row["start_ns"]),
        dur_us=exact_microseconds(row["dur_ns"]),
        self_us=_microseconds(row["self_ns"]),
        device_self_us=None if unknown else _microseconds(row["device_self_ns"]),
        device_total_us=None if unknown else _microseconds(row["device_total_ns"]),
        no_device_time=unknown,
        depth=row["depth"],
        lane=row["lane"],
        step=None if row["step"] is None else trace.steps["name"][row["step"]],
        correlation=row["correlation"],
        external_id=row["external_id"],
        track=SliceTrack(*track.row(0)) if track.height else None,
        args=_arguments(trace, slice_id),
        call_stack=frames_of(trace, slice_id),
        links=_links(trace, slice_id, row),
        short_name=names.short_text(row["name_code"]),
        demangled_name=names.demangled_text(row["name_code"]),
    )


def _microseconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else exact_microseconds(time_ns)


def _arguments(trace: Trace, slice_id: int) -> dict[str, object]:
    arguments: dict[str, object] = {}
    for table in _ARGUMENT_TABLES:
        frame: pl.DataFrame = getattr(trace, table)
        for row in frame.filter(pl.col("slice") == slice_id).head(1).iter_rows(named=True):
            for key, value in row.items():
                if value is None or key in _PLUMBING or key == "forward":
                    continue
                name = key.removesuffix("_code")
                arguments[name] = trace.text(value) if key.endswith("_code") else value
    unmodelled = trace.arguments.filter(pl.col("slice") == slice_id)
    for key, value, text in unmodelled.select("key_code", "value", "text_code").iter_rows():
        arguments.setdefault(trace.text(key) or "", value if text is None else trace.text(text))
    return arguments | _tensors(trace, slice_id)


def _tensors(trace: Trace, slice_id: int) -> dict[str, object]:
    """The tensors that an execution trace names, as arguments."""
    tensors = operator_tensors(trace, slice_id)
    if tensors.is_empty():
        return {}
    sides = {"input_tensors": ~pl.col("is_output"), "output_tensors": pl.col("is_output")}
    rows = {key: tensors.filter(side).drop("node", "is_output") for key, side in sides.items()}
    return {key: frame.to_dicts() for key, frame in rows.items() if frame.height}


def _links(trace: Trace, slice_id: int, row: dict[str, Any]) -> SliceLinks:
    work = trace.device_work
    own_work = work.filter(pl.col("slice") == slice_id)
    forward = trace.operators.filter(pl.col("slice") == slice_id)["forward"]
    backward = trace.operators.filter(pl.col("forward") == slice_id)["slice"]
    children = trace.slices.filter(pl.col("parent") == slice_id)["id"]
    launched = work.filter(pl.col("launch") == slice_id)["slice"]
    owned = work.filter(pl.col("owner") == slice_id)["slice"]
    return SliceLinks(
        parent=_linked(trace, [row["parent"]]),
        absorbed_into=_linked(trace, [row["absorbed_into"]]),
        frame=_linked(trace, [row["frame"]]),
        children=_linked(trace, children),
        launch=_linked(trace, [*own_work["launch"], *_graph_call(trace, slice_id, row)]),
        owner=_linked(trace, own_work["owner"]),
        launched=_linked(trace, launched),
        device_work=_linked(trace, owned),
        forward=_linked(trace, forward),
        backward=_linked(trace, backward),
        produced_by=_linked(trace, producers(trace, slice_id)),
        read_by=_linked(trace, readers(trace, slice_id)),
    )


def _graph_call(trace: Trace, slice_id: int, row: dict[str, Any]) -> list[int]:
    """The call that launched the graph of a node that is no device work, if it is recorded."""
    if row["category"] != Category.DEVICE_OTHER:
        return []
    events = graph_events(trace)
    calls: list[int] = events.call[events.slice == slice_id].tolist()
    return [call for call in calls if call >= 0]


def _linked(trace: Trace, ids: Iterable[int | None]) -> LinkedSlices:
    known = [slice_id for slice_id in ids if slice_id is not None]
    others, shown = kernel_names(trace), known[:MAX_LINKED]
    codes = trace.slices["name_code"].gather(shown).to_list()
    return LinkedSlices(
        len(known),
        [
            LinkedSlice(
                number, trace.text(code), others.short_text(code), others.demangled_text(code)
            )
            for number, code in zip(shown, codes, strict=True)
        ],
    )
