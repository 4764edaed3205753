"""When the passes of steps begin, as far as memory is concerned."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.efficiency.work.operands import quoted
from torch_tb_profiler.analysis.efficiency.work.result import UnknownWorkError
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.segments import Stretches, process_stretches
from torch_tb_profiler.knowledge import dtypes
from torch_tb_profiler.knowledge.memory import memory_file, weight_positions
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

FAR = int(np.iinfo(np.int64).max)
"""When begins what never does."""


class Passes(Struct, frozen=True, eq=False):
    """The phases of one process in order of time.

    Attributes:
        stretches: Its phases; forward passes begin with the first operator of the model: what comes
            before it prepares the inputs and is of no phase.
        backward_end_ns: When backward passes end.
    """

    stretches: Stretches

    def starts(self, phase: Phase) -> Int64:
        """When its stretches begin, in order."""
        begins: Int64 = self.stretches.start_ns[self.stretches.phase == phase]
        return begins

    @property
    def backward_end_ns(self) -> Int64:
        """When backward passes end, in order."""
        ends: Int64 = self.stretches.end_ns[self.stretches.phase == Phase.BACKWARD]
        return ends


@per_trace
def passes(trace: Trace) -> dict[int, Passes]:
    """Per process (-1: all together) its passes; made once. Where nothing tells phases, each
    recorded step is one forward pass, and without steps all from the first operator on."""
    roots = root_operators(trace)
    processes = indices(trace.tracks["process"])[trace.slices["track"].to_numpy()]
    first = _model_starts(trace, roots)
    by_process = process_stretches(trace) or _steps(trace) or _whole(trace, first)
    starts = trace.slices["start_ns"].to_numpy()
    result = {}
    for process, stretches in by_process.items():
        own = first if process < 0 else first[processes[first] == process]
        result[process] = Passes(_from_model(stretches, np.sort(starts[own])))
    return result


@per_trace
def root_operators(trace: Trace) -> Int64:
    """Per slice the outermost operator around it, maybe itself, -1 for none; made once."""
    parent = indices(trace.slices["parent"])
    is_operator = operator_mask(trace)
    around = nearest_marked(parent, is_operator)
    is_root = is_operator.copy()
    rows = np.flatnonzero(is_operator)
    above = parent[rows]
    is_root[rows] = np.where(above >= 0, around[above], -1) < 0
    # Where operators lie in ranges that lie in operators, the nearest root is the one to go to.
    return nearest_marked(parent, is_root)


def _steps(trace: Trace) -> dict[int, Stretches]:
    slices = trace.slices
    rows = np.flatnonzero(slices["category"].to_numpy() == Category.STEP)
    if not len(rows):
        return {}
    processes = indices(trace.tracks["process"])[slices["track"].to_numpy()[rows]]
    start = slices["start_ns"].to_numpy()[rows]
    end = start + slices["dur_ns"].to_numpy()[rows]
    by_process = {}
    for process in (-1, *distinct_values(processes).tolist()):
        own = rows >= 0 if process < 0 else processes == process
        order = np.argsort(start[own], kind="stable")
        phase = np.full(len(order), Phase.FORWARD, np.int8)
        begins, ends = start[own][order], end[own][order]
        # Steps that touch stay passes of their own.
        by_process[process] = Stretches(begins, np.maximum(ends, begins), phase)
    return by_process


def _whole(trace: Trace, model: Int64) -> dict[int, Stretches]:
    """One forward pass of all processes: the recording, where it has operators of a model."""
    if not len(model):
        return {}
    start, end = np.array([trace.meta.start_ns]), np.array([trace.meta.end_ns])
    return {-1: Stretches(start, end, np.full(1, Phase.FORWARD, np.int8))}


def _model_starts(trace: Trace, roots: Int64) -> Int64:
    """The operators with which the model itself may begin: those that nodes of a backward pass
    belong to; without such those that take weights; without such outermost ones that take a tensor
    and do not just bring it."""
    linked = trace.operators["forward"].drop_nulls().unique().to_numpy()
    if len(linked):
        operators: Int64 = linked
        return operators
    types = indices(trace.operators["input_type_code"])
    slices = trace.operators["slice"].to_numpy()
    rows = slices[(types >= 0) & (roots[slices] == slices)]
    types = types[(types >= 0) & (roots[slices] == slices)]
    names = trace.slices["name_code"].to_numpy()[rows]
    weighs: Bools = map_names(trace, names, lambda name: name in weight_positions(), np.bool_)
    if weighs.any():
        return _rows(rows, weighs)
    brings = frozenset(memory_file().bringing.operators)
    is_bringing = map_names(trace, names, lambda name: name in brings, np.bool_)
    takes: Bools = map_names(trace, types, _has_tensor, np.bool_)
    return _rows(rows, takes & ~is_bringing)


def _rows(rows: Int64, keep: Bools) -> Int64:
    selected: Int64 = rows[keep]
    return selected


def _has_tensor(types: str) -> bool:
    try:
        return any(dtypes.canonical(one) is not None for one in quoted(types))
    except UnknownWorkError:
        return False


def _from_model(stretches: Stretches, model_ns: Int64) -> Stretches:
    """``found`` with forward stretches that begin with the first operator of the model in them;
    those without any stay as they are."""
    times = np.append(model_ns, FAR)
    first = times[np.searchsorted(model_ns, stretches.start_ns)]
    moved = (stretches.phase == Phase.FORWARD) & (first < stretches.end_ns)
    start = np.where(moved, first, stretches.start_ns)
    return Stretches(start, stretches.end_ns, stretches.phase)
