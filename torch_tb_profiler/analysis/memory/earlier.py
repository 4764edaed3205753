"""What the memory allocated before the recording is likely to be: parameters and their optimizer's
state, by the gradients that one backward pass accumulates
(``docs/views-memory.md#before-the-recording``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize_rows
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.efficiency.work.operands import Tensor
from torch_tb_profiler.analysis.memory.categories import MemoryCategory, memory_blocks
from torch_tb_profiler.analysis.memory.operands import distinct_arguments
from torch_tb_profiler.analysis.memory.owners import NO_MODULE, module_labels
from torch_tb_profiler.analysis.memory.passes import passes
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.knowledge.devices import CPU_TYPE
from torch_tb_profiler.knowledge.memory import (
    embeddings,
    memory_file,
    optimizers,
    weight_positions,
)
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Earlier(Struct, frozen=True):
    """Estimates of what a device holds since before the recording, in bytes.

    Attributes:
        parameters: Parameters.
        optimizer_state: State of the optimizer.
    """

    parameters: int = 0
    optimizer_state: int = 0

    def parts(self, rest: Int64) -> dict[MemoryCategory, Int64]:
        """What of ``rest`` bytes from before the recording is of which category."""
        rest = np.maximum(rest, 0)
        parameters = np.minimum(rest, self.parameters)
        state = np.minimum(rest - parameters, self.optimizer_state)
        return {
            MemoryCategory.PARAMETER: parameters,
            MemoryCategory.OPTIMIZER_STATE: state,
            MemoryCategory.UNKNOWN: rest - parameters - state,
        }


def model_memory(trace: Trace) -> Earlier:
    """Bytes of the model's parameters and of its optimizer's state, as far as a recording tells."""
    parameters = _parameter_bytes(trace)
    return Earlier(parameters, _states(trace) * parameters if parameters else 0)


@per_trace
def earlier(trace: Trace) -> list[Earlier]:
    """Per device of the memory records what of it is estimated; made once. Only for recordings of
    one process, of one accelerator: that with most gradients. Torch counts the memory of the host
    only since its profiler was started, after the model was made."""
    records = memory_records(trace)
    results = [Earlier() for _ in records.devices]
    devices = [index for index, one in enumerate(records.devices) if one.type != CPU_TYPE]
    if not devices or len(distinct_values(records.process)) > 1:
        return results
    category = memory_blocks(trace).category

    def seen(wanted: MemoryCategory) -> Int64:
        rows = np.flatnonzero(category == wanted)
        sums = np.zeros(len(records.devices), np.int64)
        np.add.at(sums, records.device[rows], records.size_bytes[rows])
        return sums

    device = devices[int(np.argmax(seen(MemoryCategory.GRADIENT)[devices]))]
    model = model_memory(trace)
    known_bytes = int(seen(MemoryCategory.PARAMETER)[device])
    state = int(seen(MemoryCategory.OPTIMIZER_STATE)[device])
    results[device] = Earlier(
        max(model.parameters - known_bytes, 0), max(model.optimizer_state - state, 0)
    )
    return results


def _parameter_bytes(trace: Trace) -> int:
    """Bytes of parameters: the most that one backward pass accumulates gradients of; without such
    what the operators of one forward pass take as weights, each module once. 0 where not told."""
    accumulating = frozenset(memory_file().accumulation.operators)
    own = passes(trace).get(-1)
    if own is None:
        return 0
    calls = _calls(trace, lambda name: name in accumulating)
    phase = Phase.BACKWARD
    if not len(calls.slice):
        phase = Phase.FORWARD
        calls = _once_a_module(
            trace, _calls(trace, lambda name: name in weight_positions()), own.starts(phase)
        )
    if not len(calls.slice):
        return 0
    sums = np.zeros(len(own.starts(phase)) + 1, np.int64)
    np.add.at(sums, np.searchsorted(own.starts(phase), calls.start_ns, side="right"), calls.bytes)
    return int(sums.max())


class _Calls(Struct, frozen=True, eq=False):
    """Calls of operators that take weights; aligned.

    Attributes:
        slice: Their slices.
        start_ns: When they began.
        bytes: Size of their weights.
        kind: Number of their name with their inputs.
    """

    slice: Int64
    start_ns: Int64
    bytes: Int64
    kind: Int64

    def rows(self, keep: Bools | Int64) -> _Calls:
        return _Calls(self.slice[keep], self.start_ns[keep], self.bytes[keep], self.kind[keep])


def _calls(trace: Trace, is_meant: Callable[[str], bool]) -> _Calls:
    """The calls of operators of some names that are in no other such call."""
    arguments, slices = trace.operators, trace.slices
    own = arguments["slice"].to_numpy()
    names = slices["name_code"].to_numpy()[own].astype(np.int64)
    shapes, types = (indices(arguments[key]) for key in ("input_shape_code", "input_type_code"))
    is_one = map_names(trace, names, is_meant, np.bool_) & (shapes >= 0) & (types >= 0)
    marked = np.zeros(slices.height, np.bool_)
    marked[own[is_one]] = True
    parent = indices(slices["parent"])
    around = gather(nearest_marked(parent, marked), parent[own])
    rows = np.flatnonzero(is_one & (around < 0))
    inputs, kind = distinct_arguments(trace, shapes[rows], types[rows])
    first, number = factorize_rows(names[rows], kind)
    kinds = zip(names[rows][first].tolist(), kind[first].tolist(), strict=True)
    weights = [_weights(trace.text(name) or "", inputs[given]) for name, given in kinds]
    sizes = np.array([_bytes(each, weights) for each in weights], np.int64)
    start = slices["start_ns"].to_numpy()[own[rows]]
    return _Calls(own[rows], start, sizes[number], number)


class _Weights(NamedTuple):
    """The weights that an operator takes, and whether it looks rows of them up."""

    tensors: list[Tensor]
    is_table: bool


def _weights(name: str, given: list[tuple[Tensor, ...]]) -> _Weights:
    indices = weight_positions()[name]
    tensors = [one for index in indices if index < len(given) for one in given[index]]
    return _Weights(tensors, name in embeddings())


def _bytes(weights: _Weights, of_all: list[_Weights]) -> int:
    """Bytes of the weights of an operator. The largest table of embeddings is often the weight of
    the last layer too (tied): where another operator takes such a one, it counts there."""
    sizes = [one.size_bytes or 0 for one in weights.tensors]
    tables = [one.size_bytes or 0 for each in of_all if each.is_table for one in each.tensors]
    others = {one for each in of_all if not each.is_table for one in each.tensors}
    if weights.is_table and sizes == [max(tables, default=0)] and others >= {*weights.tensors}:
        return 0
    return sum(sizes)


def _once_a_module(trace: Trace, calls: _Calls, starts_ns: Int64) -> _Calls:
    """Of equal calls of one module in one pass the first; of those in no module all."""
    frame = indices(trace.slices["frame"])[calls.slice]
    labels = module_labels(trace, calls.slice, frame)
    module = labels.code.copy()
    outside = labels.texts.index(NO_MODULE)
    alone = module == outside
    module[alone] = len(labels.texts) + np.arange(int(alone.sum()))
    of_pass = np.searchsorted(starts_ns, calls.start_ns, side="right")
    first, _ = factorize_rows(of_pass, module, calls.kind)
    return calls.rows(np.sort(first))


def _states(trace: Trace) -> int:
    """Tensors as large as a parameter that the recorded optimizers keep of each; 0 where unknown,
    or where several differ."""
    names = indices(trace.slices["name_code"])
    texts = {code: trace.text(code) or "" for code in distinct_values(names).tolist()}
    steps = [code for code, text in texts.items() if text.startswith("Optimizer.step#")]
    states = {_states_of(trace, names, code, texts) for code in steps}
    return states.pop() if len(states) == 1 else 0


def _states_of(trace: Trace, names: Int64, step: int, texts: dict[int, str]) -> int:
    """The same of the optimizer with steps of one name."""
    known = optimizers().get(texts[step])
    if known is None:
        return 0
    if not known.shown_by:
        return known.states
    telling = np.flatnonzero(
        np.isin(names, [c for c, text in texts.items() if text in known.shown_by])
    )
    around = nearest_marked(indices(trace.slices["parent"]), names == step)
    return known.states if (around[telling] >= 0).any() else 0
