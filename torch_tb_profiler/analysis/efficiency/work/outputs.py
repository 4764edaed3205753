"""What convolutions were asked for, where values of their arguments were not recorded.

Definitions: ``docs/flops.md#what-is-read``.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.forests import gather, nearest_marked
from torch_tb_profiler.analysis.efficiency.work.rules import first_shape
from torch_tb_profiler.analysis.operators.call_tree import CallTree, call_tree
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.knowledge.formulas import formulas
from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

_NODE = re.compile(r"\w+Backward\d*|torch::autograd::AccumulateGrad")


def output_codes(trace: Trace, formula: Int64, row: Int64, concrete: Int64) -> tuple[Int64, Int64]:
    """Per row the codes of shapes of which the first is that of its output: of the inputs of its
    backward node, and of the call that ran after it on its thread, which is likely to take it.
    -1 where none is needed or found.

    Args:
        trace: The trace.
        formula: Per call the position of its formula, -1 for none.
        row: Calls with a formula.
        concrete: Per row the code of its values, -1 where they were not recorded.
    """
    is_convolution = np.array([one.rule == "convolution" for one in formulas()])
    asks = is_convolution[formula[row]] & (concrete < 0)
    from_backward, from_next = (np.full(len(row), -1, np.int64) for _ in range(2))
    if asks.any():
        tree = call_tree(trace)
        marked = np.zeros(len(formula), np.bool_)
        marked[row[is_convolution[formula[row]]]] = True
        outermost = _outermost(tree.parent, marked)
        home = outermost[row[asks]]
        from_backward[asks] = gather(_gradients(trace, tree, marked, outermost), home)
        from_next[asks] = _inputs_after(trace, home)
    return from_backward, from_next


def gradient_shapes(trace: Trace) -> frozenset[tuple[int, ...]]:
    """The shapes of the gradients that backward nodes take, accumulation among them."""
    every = operator_calls(trace).select("name_code", "input_shape_code").unique()
    is_node = map_names(trace, every["name_code"].to_numpy(), _is_node, np.bool_)
    shapes = every.filter(pl.Series(is_node), pl.col("input_shape_code") >= 0)["input_shape_code"]
    shapes_of_gradients = (first_shape(trace.text(code)) for code in shapes.unique().to_list())
    return frozenset(shape for shape in shapes_of_gradients if shape is not None)


def _is_node(name: str) -> bool:
    return _NODE.fullmatch(name) is not None


def _gradients(trace: Trace, tree: CallTree, marked: Bools, outermost: Int64) -> Int64:
    """Per outermost convolution the code of the shapes of the inputs of its backward node."""
    nodes = trace.operators.filter(
        pl.col("forward").is_not_null(), pl.col("input_shape_code").is_not_null()
    )
    of_call = np.full(len(marked), -1, np.int64)
    forward = nodes["forward"].to_numpy()
    call = np.minimum(np.searchsorted(tree.slice, forward), len(tree.slice) - 1)
    home = gather(outermost, nearest_marked(tree.parent, marked)[call])
    known = np.flatnonzero((tree.slice[call] == forward) & (home >= 0))
    of_call[home[known]] = nodes["input_shape_code"].to_numpy()[known]
    return of_call


def _inputs_after(trace: Trace, calls: Int64) -> Int64:
    """Per call the code of the shapes of the first call on its thread that begins after its end."""
    every = operator_calls(trace)
    slices = every["slice"].to_numpy()
    track = trace.slices["track"].to_numpy()[slices]
    start_ns = every["start_ns"].to_numpy()
    end_ns = start_ns[calls] + every["host_total_ns"].to_numpy()[calls]
    clock = TrackClock(np.concatenate((start_ns, end_ns)), int(track.max(initial=0)) + 1)
    # Calls are in order of slices: by track, then by start.
    after = np.searchsorted(clock.keys(track, start_ns), clock.keys(track[calls], end_ns))
    next_row = np.minimum(after, len(slices) - 1)
    is_there = (after < len(slices)) & (track[next_row] == track[calls])
    shapes = every["input_shape_code"].to_numpy().astype(np.int64)
    return np.where(is_there, shapes[next_row], -1)


def _outermost(parent: Int64, marked: Bools) -> Int64:
    """Per marked element the outermost marked one around it, maybe itself; -1 for others."""
    up = np.where(marked, gather(nearest_marked(parent, marked), parent), -1)
    is_root = marked & (up < 0)
    return np.where(marked, nearest_marked(np.where(marked, up, -1), is_root), -1)
