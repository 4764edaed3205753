"""Sizes of the tensors that operators took: what a block of memory may have been.

Traces name no tensor of a block. A block of which an operator takes a tensor of exactly its size
next is taken to be that tensor (``docs/views-memory.md#shapes``).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize, factorize_rows
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.efficiency.work.operands import Tensor, read_operands
from torch_tb_profiler.analysis.efficiency.work.result import UnknownWorkError
from torch_tb_profiler.knowledge.memory import weight_positions
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

ROUNDING_BYTES = 512
"""Allocators of GPUs round sizes up to a multiple of this (``kMinBlockSize`` in pytorch's
``c10/cuda/CUDACachingAllocator.cpp``); that of the host does not."""


class Taken(Struct, frozen=True, eq=False):
    """Tensors that operators took, by (size, time); aligned.

    Attributes:
        size_bytes: Size of each as an allocator gives it out.
        time_ns: When its operator began.
        tensor: Its place in the tensors.
    """

    size_bytes: Int64
    time_ns: Int64
    tensor: Int64


class OperandTensors(Struct, frozen=True, eq=False):
    """The tensors that operators took.

    Attributes:
        tensors: The distinct tensors.
        exact: What was taken by its size.
        rounded: What was taken by its size as allocators of GPUs round it.
        weight_bytes: Distinct sizes of weights, and of gradients of parameters.
    """

    tensors: list[Tensor]
    exact: Taken
    rounded: Taken
    weight_bytes: Int64


class OperandBlocks(Struct, frozen=True, eq=False):
    """Blocks whose tensors are asked for; aligned.

    Attributes:
        size_bytes: Size of each.
        made_ns: When it was allocated.
        end_ns: When it was released, the largest int64 if never.
        begun_ns: When the outermost operator around its allocation began.
    """

    size_bytes: Int64
    allocated_ns: Int64
    end_ns: Int64
    begun_ns: Int64


@per_trace
def operands(trace: Trace) -> OperandTensors:
    """The operands of a trace; made once. Empty where neither shapes nor types are recorded."""
    arguments = trace.operators
    shapes, types = (indices(arguments[key]) for key in ("input_shape_code", "input_type_code"))
    rows = np.flatnonzero((shapes >= 0) & (types >= 0))
    slices = arguments["slice"].to_numpy()[rows]
    names = trace.slices["name_code"].to_numpy()[slices].astype(np.int64)
    kinds, kind = distinct_arguments(trace, shapes[rows], types[rows])
    read = _Read()
    tensors_by_kind = [read.kind(given) for given in kinds]
    counts = np.array([len(ids) for ids in tensors_by_kind], np.int64)
    flat = np.array([id_ for ids in tensors_by_kind for id_ in ids], np.int64)
    first = np.cumsum(counts) - counts
    count = counts[kind]
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    tensor = flat[np.repeat(first[kind], count) + within]
    time = np.repeat(trace.slices["start_ns"].to_numpy()[slices], count)
    sizes = np.array([one.size_bytes or 0 for one in read.tensors], np.int64)[tensor]
    distinct, _ = factorize_rows(names, kind)
    return OperandTensors(
        read.tensors,
        _by_size(sizes, time, tensor),
        _by_size(rounded(sizes), time, tensor),
        _weights(trace, np.stack((names[distinct], kind[distinct])), kinds),
    )


def _by_size(sizes: Int64, time_ns: Int64, tensor: Int64) -> Taken:
    order = np.lexsort((time_ns, sizes))
    return Taken(sizes[order], time_ns[order], tensor[order])


def distinct_arguments(
    trace: Trace, shapes: Int64, types: Int64
) -> tuple[list[list[tuple[Tensor, ...]]], Int64]:
    """The distinct inputs of calls, per argument the tensors in it, and which each call has.

    Args:
        trace: The trace.
        shapes: Code of the shapes of each call, none absent.
        types: Code of its types.
    """
    size = len(trace.strings)
    codes, inverse = factorize(shapes * size + types)
    return [_arguments(trace, *divmod(code, size)) for code in codes.tolist()], inverse


def _arguments(trace: Trace, shapes: int, types: int) -> list[tuple[Tensor, ...]]:
    texts = trace.text(shapes) or "", trace.text(types) or ""
    try:
        read = read_operands(*texts, None).arguments
    except UnknownWorkError:
        return []
    return [() if one is None else (one,) if isinstance(one, Tensor) else one for one in read]


class _Read:
    """Numbers the distinct tensors."""

    def __init__(self) -> None:
        self._ids: dict[Tensor, int] = {}
        self.tensors: list[Tensor] = []

    def kind(self, given: list[tuple[Tensor, ...]]) -> list[int]:
        """The places of the distinct tensors among ``given`` that have a size."""
        present: dict[int, None] = {}
        for tensor in (one for part in given for one in part):
            if tensor.size_bytes:
                id_ = self._ids.setdefault(tensor, len(self.tensors))
                if id_ == len(self.tensors):
                    self.tensors.append(tensor)
                present[id_] = None
        return list(present)


def _weights(trace: Trace, calls: Int64, kinds: list[list[tuple[Tensor, ...]]]) -> Int64:
    """The distinct sizes of weights among distinct calls (name, inputs), ascending."""
    known = weight_positions()
    sizes: set[int] = set()
    for name, kind in calls.T.tolist():
        given = kinds[kind]
        for index in known.get(trace.text(name) or "", ()):
            tensors = given[index] if index < len(given) else ()
            sizes.update(one.size_bytes for one in tensors if one.size_bytes)
    return np.array(sorted(sizes), np.int64)


def rounded(size_bytes: Int64) -> Int64:
    """Sizes as allocators of GPUs round them."""
    up: Int64 = -(-size_bytes // ROUNDING_BYTES) * ROUNDING_BYTES
    return up


def tensor_of_blocks(taken: Taken, blocks: OperandBlocks) -> Int64:
    """Per block the tensor it is taken to be, -1 where no operator took one of its size: the first
    that was taken while it is alive, else the last that the operator around its allocation was
    given."""
    distinct, first = np.unique(taken.size_bytes, return_index=True)
    bounds = np.append(first, len(taken.size_bytes))
    group = np.searchsorted(distinct, blocks.size_bytes)
    has = np.append(distinct, -1)[group] == blocks.size_bytes
    tensor = np.full(len(group), -1, np.int64)
    for number in distinct_values(group[has]).tolist():
        rows = np.flatnonzero(has & (group == number))
        low, high = bounds[number], bounds[number + 1]
        time = np.append(taken.time_ns[low:high], np.iinfo(np.int64).max)
        after = np.searchsorted(time[:-1], blocks.allocated_ns[rows])
        use = np.where(time[after] < blocks.end_ns[rows], low + after, -1)
        before = after - 1
        inside = (use < 0) & (before >= 0) & (time[before] >= blocks.begun_ns[rows])
        tensor[rows] = gather(taken.tensor, np.where(inside, low + before, use))
    return tensor
