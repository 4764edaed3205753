"""Host events summed by what they have in common, each with its whole time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import with_descendants
from torch_tb_profiler.analysis.operators.printed.nodes import (
    are_named,
    are_of_types,
    node_frame,
    nodes,
    work_frame,
)
from torch_tb_profiler.analysis.operators.summaries.calls import figures, threads
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace

OPERATOR = "Operator"
RANGE, OWN_RANGE = "PythonUserDefined", "UserDefined"
"""Types of ranges: the user's, and the framework's."""

COPY_WORDS = ("memcpy", "memorycopy", "memset")
"""Ranges with such names are copies and memsets of memory."""

INNER, DEVICE = "inner", "device"
"""Kinds of the parts of operators."""


def summed(frame: pl.DataFrame, keys: Sequence[str], by: str = "rank") -> pl.DataFrame:
    """Rows by ``keys``, in order of the first by ``by``: the keys, ``calls``, ``cpu_…_ns`` and
    ``gpu_…_ns``, and ``rank``, that first."""
    return (
        frame.sort(by, maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg(*figures(), pl.col(by).min().alias("rank"))
    )


def selected_nodes(trace: Trace, selection: Selection, *, by_thread: bool) -> pl.DataFrame:
    """:func:`node_frame` with ``thread`` (null where threads are merged); ``gpu_ns`` is null
    where the recording has no device work.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    frame = node_frame(trace, selection)
    if no_device_time(trace) is not None:
        nothing = pl.lit(None, pl.Int64)
        frame = frame.with_columns(gpu_ns=nothing, kernel_ns=nothing)
    if by_thread:
        return frame.with_columns(thread=threads(trace)[frame["track"].to_numpy()])
    return frame.with_columns(thread=pl.lit(None, pl.String))


def operators(trace: Trace, selection: Selection, *, by_thread: bool) -> pl.DataFrame:
    """Operators of a selection by name: ``name``, ``thread`` and the columns of :func:`summed`.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    frame = selected_nodes(trace, selection, by_thread=by_thread)
    calls = frame.filter(are_of_types(trace, frame, OPERATOR))
    return _named(trace, summed(calls, ["name_code", "thread"]))


def operator_parts(trace: Trace, selection: Selection, *, by_thread: bool) -> pl.DataFrame:
    """The parts of the operators: ``operator``, ``thread``, ``part`` (the inner part that
    device work was launched in; null in the operator itself), ``kind``, ``name`` and the columns of
    :func:`summed`. Operators in one another are no parts.

    Raises:
        SelectionError: as :func:`operators`.
    """
    frame = selected_nodes(trace, selection, by_thread=by_thread)
    is_operator = are_of_types(trace, frame, OPERATOR)
    outer = frame.filter(is_operator).select(
        "thread", "node", operator_code="name_code", outer_rank="rank"
    )
    inner = (
        frame.filter(~is_operator)
        .drop("thread")
        .join(outer.rename({"node": "parent"}), on="parent", how="inner", maintain_order="left")
        .with_columns(kind=pl.lit(INNER), part_code=pl.lit(None, pl.Int32))
    )
    inner = _with_order(inner, ["outer_rank", "slice"])
    work = work_frame(trace, selection).select(
        "node", "name_code", "launch", "start_ns", gpu_ns="dur_ns", cpu_ns=pl.lit(None, pl.Int64)
    )
    of_operators = outer.with_columns(part_code=pl.lit(None, pl.Int32))
    of_parts = inner.select("thread", "node", "operator_code", "outer_rank", part_code="name_code")
    devices = work.join(
        pl.concat([of_operators, of_parts]), on="node", how="inner", maintain_order="left"
    ).with_columns(kind=pl.lit(DEVICE))
    devices = _with_order(devices, ["outer_rank", "node", "launch", "start_ns"])
    keys = ["operator_code", "thread", "part_code", "kind", "name_code"]
    parts = pl.concat(
        [summed(inner, keys, "order"), summed(devices, keys, "order")], how="diagonal_relaxed"
    )
    return _named(trace, parts).with_columns(
        operator=codes.texts(trace, parts["operator_code"]),
        part=codes.texts(trace, parts["part_code"]),
    )


def ranges(trace: Trace, selection: Selection, *, by_thread: bool) -> pl.DataFrame:
    """Ranges of the user by name, as :func:`operators`.

    Raises:
        SelectionError: as there.
    """
    frame = selected_nodes(trace, selection, by_thread=by_thread)
    is_own = are_of_types(trace, frame, RANGE) & ~are_named(trace, frame, _is_copy)
    return _named(trace, summed(frame.filter(is_own), ["name_code", "thread"]))


def memory_manipulations(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Ranges that copy or memset memory by name, as :func:`operators`, with ``bytes`` of the copies
    and memsets launched inside, null where the recording has none.

    Raises:
        SelectionError: as there.
    """
    frame = selected_nodes(trace, selection, by_thread=False)
    is_copy = are_of_types(trace, frame, RANGE, OWN_RANGE) & are_named(trace, frame, _is_copy)
    calls = frame.filter(is_copy)
    tree, work = nodes(trace), trace.device_work
    own = np.zeros(len(tree.slice), np.int64)
    sized = np.flatnonzero((tree.launching >= 0) & work["bytes"].is_not_null().to_numpy())
    np.add.at(own, tree.launching[sized], work["bytes"].to_numpy()[sized].astype(np.int64))
    inside = with_descendants(own, tree.parent)[calls["node"].to_numpy()]
    groups = calls.with_columns(bytes=pl.Series(inside, dtype=pl.Int64)).group_by("name_code")
    size = groups.agg(pl.when(pl.col("bytes").sum() > 0).then(pl.col("bytes").sum()).alias("bytes"))
    return _named(trace, summed(calls, ["name_code"]).join(size, on="name_code", how="left"))


def kernels(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Kernels by their whole name: ``name``, ``calls``, ``gpu_…_ns``.

    Raises:
        SelectionError: as :func:`operators`.
    """
    frame = work_frame(trace, selection).filter(category=int(Category.KERNEL))
    rank = np.append(nodes(trace).rank, -1)[frame["node"].to_numpy()]
    calls = frame.select("name_code", gpu_ns="dur_ns", cpu_ns=pl.lit(None, pl.Int64)).with_columns(
        rank=pl.Series(rank, dtype=pl.Int64)
    )
    return _named(trace, summed(calls, ["name_code"]))


def step_sums(trace: Trace, selection: Selection) -> tuple[int, int]:
    """Kernels, and all device work, launched in the steps, whatever phase is selected: their sums
    in ns.

    Raises:
        SelectionError: as :func:`operators`.
    """
    frame = node_frame(trace, replace(selection, phase=None))
    steps = frame.filter(are_of_types(trace, frame, "ProfileStep"))
    return int(steps["kernel_ns"].sum()), int(steps["gpu_ns"].sum())


def _is_copy(name: str) -> bool:
    return any(word in name for word in COPY_WORDS)


def _with_order(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return frame.sort(keys, maintain_order=True).with_row_index("order").cast({"order": pl.Int64})


def _named(trace: Trace, groups: pl.DataFrame) -> pl.DataFrame:
    return groups.with_columns(name=codes.texts(trace, groups["name_code"]))
