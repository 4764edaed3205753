"""The host events of a recording of Paddle as the trees that its tables are counted over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices, with_descendants
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.nesting import Forest, NestedSpans, nest

FORMAT = "paddle"

HOLDERS = (*NODE_CATEGORIES, Category.HOST_OTHER)
"""Categories of nodes: host events that are no calls into a device's runtime."""


def is_paddle(trace: Trace) -> bool:
    """Whether a recording is Paddle's own."""
    return trace.meta.format == FORMAT


class HostNodes(Struct, frozen=True, eq=False):
    """The nodes of all threads, in order of slice id.

    Attributes:
        slice: Slice of each node.
        parent: Node around each, -1 for none.
        rank: Position of each in the order in which Paddle visits them: threads by number, in each
            the last node first, and what is around a node before it.
        kernel_ns: Kernels launched inside each.
        gpu_ns: Kernels, copies and memsets launched inside each.
        launching: Per row of ``trace.device_work`` the innermost node around its launch, -1 for
            none.
    """

    slice: Int64
    parent: Int64
    rank: Int64
    kernel_ns: Int64
    gpu_ns: Int64
    launching: Int64


@per_trace
def forest_of_nodes(trace: Trace) -> Forest:
    """The trees of host events of all threads, whose ids are slices."""
    slices = trace.slices
    ids = np.flatnonzero(slices["category"].is_in([int(one) for one in HOLDERS]).to_numpy())
    track = slices["track"].to_numpy()
    start = slices["start_ns"].to_numpy()
    spans = NestedSpans(track, start, start + slices["dur_ns"].to_numpy())
    return nest(spans, ids, trace.meta.time_unit_ns)


@per_trace
def nodes(trace: Trace) -> HostNodes:
    """The nodes of ``trace``; cached with it."""
    forest = forest_of_nodes(trace)
    ids = forest.ids
    number = np.full(trace.slices.height + 1, -1, np.int64)
    number[ids] = np.arange(len(ids))
    parent = number[forest.parent]
    work = trace.device_work
    launch = indices(work["launch"])
    launching = np.full(len(launch), -1, np.int64)
    known = np.flatnonzero(launch >= 0)
    at = launch[known]
    start = trace.slices["start_ns"].to_numpy()
    around = forest.innermost(trace.slices["track"].to_numpy()[at], start[at])
    launching[known] = number[around]
    duration = work["dur_ns"].to_numpy()
    is_kernel = work["category"].to_numpy() == Category.KERNEL
    own, kernels = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    inside = launching >= 0
    np.add.at(own, launching[inside], duration[inside])
    inside &= is_kernel
    np.add.at(kernels, launching[inside], duration[inside])
    return HostNodes(
        slice=ids,
        parent=parent,
        rank=_ranks(trace, ids),
        kernel_ns=with_descendants(kernels, parent),
        gpu_ns=with_descendants(own, parent),
        launching=launching,
    )


def _ranks(trace: Trace, ids: Int64) -> Int64:
    slices = trace.slices
    start = slices["start_ns"].to_numpy()[ids]
    end = start + slices["dur_ns"].to_numpy()[ids]
    thread = thread_ranks(trace)[slices["track"].to_numpy()[ids]]
    order = np.lexsort((ids, -end, thread))
    rank = np.empty(len(ids), np.int64)
    rank[order] = np.arange(len(ids))
    return rank


@per_trace
def thread_ranks(trace: Trace) -> Int64:
    """Per track its position among the threads in order of their numbers."""
    numbers = trace.tracks["tid"].cast(pl.Int64, strict=False).fill_null(-1)
    rank: Int64 = numbers.rank("ordinal").cast(pl.Int64).to_numpy()
    return rank


def node_frame(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The nodes of a selection, in order of slice id: node (its number), slice, parent, rank,
    name_code, word_code (its type in the file), category, track, start_ns, cpu_ns, gpu_ns,
    kernel_ns.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    tree = nodes(trace)
    frame = trace.slices.select(
        "name_code", "category", "track", "start_ns", cpu_ns="dur_ns", word_code="raw_category_code"
    )[tree.slice].with_columns(
        node=pl.Series(np.arange(len(tree.slice)), dtype=pl.Int64),
        **{
            key: pl.Series(getattr(tree, key), dtype=pl.Int64)
            for key in ("slice", "parent", "rank", "gpu_ns", "kernel_ns")
        },
    )
    if selection.is_everything:
        return frame
    return frame.filter(slice_mask(trace, selection)[tree.slice])


def work_frame(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The device work of a selection: node (whose launch it is, -1), category, name_code, device,
    launch, start_ns, dur_ns.

    Raises:
        SelectionError: as :func:`node_frame`.
    """
    frame = trace.device_work.select(
        "category", "name_code", "device", "launch", "start_ns", "dur_ns"
    ).with_columns(node=pl.Series(nodes(trace).launching, dtype=pl.Int64))
    if selection.is_everything:
        return frame
    return frame.filter(device_work_mask(trace, selection))


def are_of_types(trace: Trace, frame: pl.DataFrame, *types: str) -> Bools:
    """Mask of the nodes of these types of the file."""
    words = {word.lower() for word in types}
    return codes.present_names_match(
        trace, frame["word_code"], lambda word: word.lower() in words, absent=False
    )


def are_named(trace: Trace, frame: pl.DataFrame, matches: Callable[[str], bool]) -> Bools:
    """Mask of the nodes whose name, in lower case, ``matches``."""
    return codes.names_match(
        trace, frame["name_code"].to_numpy(), lambda name: matches(name.lower())
    )
