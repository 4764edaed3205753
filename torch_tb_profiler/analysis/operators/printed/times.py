"""Times of types of events, of phases and of communication, as Paddle's tables have them."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, nearest_marked
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    intersect,
    total,
    union,
    union_all,
)
from torch_tb_profiler.analysis.operators.printed.nodes import (
    are_named,
    are_of_types,
    forest_of_nodes,
    node_frame,
    nodes,
    work_frame,
)
from torch_tb_profiler.analysis.operators.printed.sums import (
    OPERATOR,
    selected_nodes,
    summed,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

STEP, COMMUNICATION = "ProfileStep", "Communication"
PHASES = ("Dataloader", "Forward", "Backward", "Optimization")
WORK_TYPES = {Category.KERNEL: "Kernel", Category.MEMCPY: "Memcpy", Category.MEMSET: "Memset"}

OPERATOR_WORDS = ("allreduce", "broadcast", "rpc")
"""Operators whose names contain one of these communicate."""

KERNEL_WORDS = ("nccl", "xccl")
"""So do such kernels, whatever launched them."""


def step_time_ns(trace: Trace, selection: Selection) -> int:
    """Moments of the steps on the host, whatever phase is selected.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    frame = node_frame(trace, replace(selection, phase=None))
    return total(_spans(frame.filter(are_of_types(trace, frame, STEP))))


def phases(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Steps and phases: ``name`` and the columns of ``summed``, in the order of the table; GPU
    times are of kernels. A phase inside another one is part of that.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    frame = selected_nodes(trace, selection, by_thread=False).with_columns(gpu_ns="kernel_ns")
    every = node_frame(trace, Selection())
    tree = nodes(trace)
    phase_around = gather(
        nearest_marked(tree.parent, are_of_types(trace, every, *PHASES)), tree.parent
    )
    is_outermost = phase_around[frame["node"].to_numpy()] < 0
    return pl.concat(
        summed(
            frame.filter(are_of_types(trace, frame, name) & is_outermost).with_columns(
                name=pl.lit(name)
            ),
            ["name"],
        )
        for name in (STEP, *PHASES)
    )


def event_types(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Types of events: ``type``, ``side``, ``calls``, ``time_ns``; those of the host longest first,
    those of devices in order of the first.

    Raises:
        SelectionError: as :func:`phases`.
    """
    communication = communications(trace, selection)
    host = _host_types(trace, selection)
    of_phases = phases(trace, selection).filter(pl.col("name") != STEP)
    replaced = {
        name: (calls, time)
        for name, calls, time in of_phases.select("name", "calls", "cpu_total_ns").rows()
    }
    replaced[COMMUNICATION] = (communication.host_calls, total(communication.host))
    rows = [
        (name, "host", *replaced.get(name, (calls, time)), rank)
        for name, calls, time, rank in host.rows()
        if name != COMMUNICATION
    ]
    if communication.host_calls:
        rows.append((COMMUNICATION, "host", *replaced[COMMUNICATION], len(rows)))
    rows.sort(key=lambda row: (-row[3], row[4]))
    rows += [
        (name, "device", calls, time, 0) for name, calls, time in _device_types(trace, selection)
    ]
    if communication.device_calls:
        rows.append(
            (COMMUNICATION, "device", communication.device_calls, total(communication.device), 0)
        )
    schema = {"type": pl.String, "side": pl.String, "calls": pl.Int64, "time_ns": pl.Int64}
    return pl.DataFrame([row[:4] for row in rows], schema=schema, orient="row")


def _host_types(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Name, calls, time and first rank of the types of nodes and of the calls in them."""
    frame = node_frame(trace, selection).select("word_code", "rank", "start_ns", end=_END)
    slices = trace.slices
    is_call = (slices["category"] == int(Category.RUNTIME)).to_numpy()
    if not selection.is_everything:
        is_call = is_call & slice_mask(trace, selection)
    calls = np.flatnonzero(is_call)
    start = slices["start_ns"].to_numpy()[calls]
    around = forest_of_nodes(trace).innermost(slices["track"].to_numpy()[calls], start)
    calls, start = calls[around >= 0], start[around >= 0]
    in_nodes = pl.DataFrame(
        {
            "word_code": slices["raw_category_code"][calls],
            "rank": np.full(len(calls), np.iinfo(np.int64).max),
            "start_ns": start,
            "end": start + slices["dur_ns"].to_numpy()[calls],
        },
        schema=frame.schema,
    )
    every = pl.concat([frame, in_nodes])
    names = codes.texts(trace, every["word_code"])
    every = every.with_columns(type=names).drop_nulls("type")
    groups = every.group_by("type", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"), rank=pl.col("rank").min()
    )
    number = {name: at for at, name in enumerate(groups["type"].to_list())}
    group = every["type"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
    time = union_lengths(
        group, every["start_ns"].to_numpy(), every["end"].to_numpy(), groups.height
    )
    return groups.select("type", "calls", pl.Series("time", time, dtype=pl.Int64), "rank")


def _device_types(trace: Trace, selection: Selection) -> list[tuple[str, int, int]]:
    """Type, calls and time of the work that nodes launched, device by device in order of the
    first."""
    work = _launched(trace, selection)
    seen = work.group_by("device", maintain_order=True).agg(
        pl.col("category").unique(maintain_order=True)
    )
    order = seen.explode("category")["category"].unique(maintain_order=True)
    calls = work.group_by("category").agg(pl.len().alias("calls"))
    groups = order.to_frame().join(calls, on="category", maintain_order="left")
    return [
        (WORK_TYPES[Category(category)], calls, total(_work(work.filter(category=category))))
        for category, calls in groups.rows()
    ]


def device_times(trace: Trace, selection: Selection) -> list[tuple[int, int]]:
    """Devices in order of their first work, and the moments in which a kernel ran on each, in ns.

    Raises:
        SelectionError: as :func:`phases`.
    """
    work = _launched(trace, selection)
    devices = work["device"].drop_nulls().unique(maintain_order=True).to_list()
    is_kernel = pl.col("category") == int(Category.KERNEL)
    return [
        (device, total(_work(work.filter((pl.col("device") == device) & is_kernel))))
        for device in devices
    ]


class Communications(Struct, frozen=True):
    """When a recording communicated and computed; calls of the same moments are one.

    Attributes:
        host: Ranges on the host.
        host_calls: How many distinct ones.
        device: Kernels.
        device_calls: How many likewise.
        computation: Other kernels.
    """

    host: Intervals
    host_calls: int
    device: Intervals
    device_calls: int
    computation: Intervals

    @property
    def communication(self) -> Intervals:
        """On the host or on devices."""
        return union_all(self.host, self.device)

    @property
    def overlap(self) -> Intervals:
        """Moments of both communication and computation."""
        return intersect(self.communication, self.computation)


def communications(trace: Trace, selection: Selection) -> Communications:
    """Events of the type Communication, operators named like it, their kernels, and kernels named
    like it; kernels of nodes inside them are computation, too.

    Raises:
        SelectionError: as :func:`phases`.
    """
    every = node_frame(trace, Selection())
    communicates = are_of_types(trace, every, COMMUNICATION) | (
        are_of_types(trace, every, OPERATOR) & are_named(trace, every, _is_communication)
    )
    frame = node_frame(trace, selection)
    host = frame.filter(communicates[frame["node"].to_numpy()])
    kernels = _launched(trace, selection).filter(category=int(Category.KERNEL))
    node = kernels["node"].to_numpy()
    below = gather(nearest_marked(nodes(trace).parent, communicates), node) >= 0
    named = codes.names_match(
        trace,
        kernels["name_code"].to_numpy(),
        lambda name: any(word in name.lower() for word in KERNEL_WORDS),
    )
    on_device = kernels.filter(below | named)
    return Communications(
        host=_spans(host),
        host_calls=host.select("start_ns", end=_END).unique().height,
        device=_work(on_device),
        device_calls=on_device.select("start_ns", "dur_ns").unique().height,
        computation=_work(kernels.filter(~communicates[node] & ~named)),
    )


_END = pl.col("start_ns") + pl.col("cpu_ns")


def _is_communication(name: str) -> bool:
    return any(word in name for word in OPERATOR_WORDS)


def _launched(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The device work that nodes launched, in the order in which Paddle visits those."""
    work = work_frame(trace, selection).filter(pl.col("node") >= 0)
    rank: Int64 = nodes(trace).rank[work["node"].to_numpy()]
    return work.with_columns(rank=pl.Series(rank, dtype=pl.Int64)).sort(
        "rank", "launch", "start_ns", maintain_order=True
    )


def _spans(frame: pl.DataFrame) -> Intervals:
    start = frame["start_ns"].to_numpy()
    return union(start, start + frame["cpu_ns"].to_numpy())


def _work(frame: pl.DataFrame) -> Intervals:
    start = frame["start_ns"].to_numpy()
    return union(start, start + frame["dur_ns"].to_numpy())
