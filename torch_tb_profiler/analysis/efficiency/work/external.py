"""Work that something beside a call's own inputs tells: the step of an inference engine around it,
the metadata of a collective, the forward operator of a backward one.

Definitions: ``docs/flops.md#backward``, ``docs/flops.md#inference-engines``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import (
    gather,
    indices,
    nearest_marked,
    with_descendants,
)
from torch_tb_profiler.analysis.communication.metadata import collective_metadata
from torch_tb_profiler.analysis.efficiency.work.distinct import DistinctCalls
from torch_tb_profiler.analysis.efficiency.work.engines import sums_around
from torch_tb_profiler.analysis.efficiency.work.formula_arguments import number as formula_number
from torch_tb_profiler.analysis.efficiency.work.result import Reason, Work
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.knowledge.formulas import MODEL_KINDS, formulas
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

Columns: TypeAlias = dict[str, npt.NDArray[Any]]
"""The columns of ``CallWork`` by name, being filled."""


def add_served(trace: Trace, distinct: DistinctCalls, works: list[Work], columns: Columns) -> None:
    """FLOPs and bytes of attention whose lengths the range of its step tells."""
    per_pair = [work.per_pair for work in works]
    if not any(each is not None for each in per_pair):
        return
    figures = np.array(
        [
            (np.nan,) * 3
            if each is None
            else (
                each.flops,
                each.query_bytes,
                np.nan if each.key_bytes is None else each.key_bytes,
            )
            for each in per_pair
        ],
        np.float64,
    )[distinct.number]
    sums, row = sums_around(trace), distinct.row
    flops = figures[:, 0] * sums.pairs[row]
    is_known = ~np.isnan(flops)
    columns["flops"][row[is_known]] = flops[is_known]
    columns["uncomputed_flops"][row[is_known]] = (figures[:, 0] * sums.masked_pairs[row])[is_known]
    columns["reason"][row[is_known]] = Reason.KNOWN
    size = figures[:, 1] * sums.queries[row] + figures[:, 2] * sums.keys[row]
    is_known = ~np.isnan(size)
    columns["bytes"][row[is_known]] = size[is_known]
    columns["bytes_reason"][row[is_known]] = Reason.KNOWN


def add_messages(trace: Trace, formula: Int64, columns: Columns) -> None:
    """Bytes of collectives whose metadata tells what goes in and comes out."""
    if trace.collectives.is_empty():
        return
    is_message = np.array([*(one.rule == "message" for one in formulas()), False])[formula]
    messages = collective_metadata(trace).select(
        "slice", size=pl.col("in_bytes") + pl.col("out_bytes")
    )
    messages = messages.filter(pl.col("size").is_not_null())
    of_slice = np.full(trace.slices.height, np.nan)
    tree = call_tree(trace)
    # Kernels first: what the call itself tells is written over it.
    owner = np.full(trace.slices.height, -1, np.int64)
    owner[trace.device_work["slice"].to_numpy()] = gather(tree.slice, tree.owner)
    slices, sizes = messages["slice"].to_numpy(), messages["size"].to_numpy()
    owners = owner[slices]
    of_slice[owners[owners >= 0]] = sizes[owners >= 0]
    of_slice[slices] = sizes
    size = of_slice[tree.slice]
    rows = np.flatnonzero(is_message & ~np.isnan(size))
    columns["bytes"][rows] = size[rows]
    columns["bytes_reason"][rows] = Reason.KNOWN


def add_backward(trace: Trace, formula: Int64, columns: Columns, counted: Bools) -> bool:
    """FLOPs of backward calls that are counted by their forward operator, by the calls that are
    counted without them; whether there are any."""
    every = formulas()
    factors = np.array([_factor(formula_row) for formula_row in range(len(every))] + [np.nan])[
        formula
    ]
    rows = np.flatnonzero(~np.isnan(factors) & np.isnan(columns["flops"]))
    if not len(rows):
        return False
    tree = call_tree(trace)
    is_model = np.array([*(one.kind in MODEL_KINDS for one in every), False])[formula]
    forward = _forward_calls(trace)[rows]
    own = np.where(counted & is_model, np.nan_to_num(columns["flops"]), 0)
    masked = np.where(counted & is_model, np.nan_to_num(columns["uncomputed_flops"]), 0)
    flops, uncomputed = (
        np.append(with_descendants(each.astype(np.int64), tree.parent), 0)[forward].astype(float)
        for each in (own, masked)
    )
    has_forward = (forward >= 0) & (flops > 0)
    at, factor = rows[has_forward], factors[rows[has_forward]]
    columns["flops"][at] = flops[has_forward] * factor
    columns["uncomputed_flops"][at] = uncomputed[has_forward] * factor
    columns["reason"][at] = Reason.KNOWN
    columns["is_estimated"][at] = True
    return bool(has_forward.any())


def _factor(index: int) -> float:
    formula = formulas()[index]
    return (
        formula_number(formula.arguments, "factor", 1) if formula.rule == "of-forward" else np.nan
    )


def _forward_calls(trace: Trace) -> Int64:
    """Per call the forward call that the recording links it or a node around it to, -1 for none.

    A forward operator inside a call of its own (``FlashAttnFunc``) stands for that one.
    """
    tree = call_tree(trace)
    linked = trace.operators.filter(pl.col("forward").is_not_null())
    of_slice = np.full(trace.slices.height, -1, np.int64)
    of_slice[linked["slice"].to_numpy()] = linked["forward"].to_numpy()
    number = np.full(trace.slices.height, -1, np.int64)
    number[tree.slice] = np.arange(len(tree.slice))
    own = of_slice[tree.slice]
    node = nearest_marked(tree.parent, own >= 0)
    parent = indices(trace.slices["parent"])
    is_call = number >= 0
    home = gather(nearest_marked(parent, is_call), gather(own, node))
    return gather(number, home)
