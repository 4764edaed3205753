"""What blocks of memory are: parameters, gradients, activations ….

Traces do not say so. It follows from when a block was allocated and released among the passes of
the steps, and from its size (``docs/views-memory.md#categories``).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.memory.operands import operands, rounded
from torch_tb_profiler.analysis.memory.pairs import NEVER
from torch_tb_profiler.analysis.memory.passes import FAR, Passes, passes, root_operators
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.segments import phase_at
from torch_tb_profiler.knowledge.memory import memory_file
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class MemoryCategory(IntEnum):
    """What a block of memory is for."""

    PARAMETER = 0
    GRADIENT = 1
    OPTIMIZER_STATE = 2
    ACTIVATION = 3
    INPUT = 4
    TEMPORARY = 5
    UNKNOWN = 6


CATEGORY_NAMES = tuple(category.name.lower() for category in MemoryCategory)


class MemoryBlocks(Struct, frozen=True, eq=False):
    """What is told of each memory record; of releases nothing (-1).

    Attributes:
        category: The :class:`MemoryCategory` of each allocation.
        phase: The :class:`Phase` it was allocated in; -1 where nothing tells phases.
        end_ns: When it ended, :data:`FAR` where it did not.
        passes: Over how many starts of a forward pass it lived.
        made_in: How many forward passes of its process had begun when it was allocated.
    """

    category: Int8
    phase: Int8
    end_ns: Int64
    passes: Int64
    allocated_in_pass: Int64


class BlockTimes(Struct, frozen=True, eq=False):
    """Blocks of memory, and releases, which have no category; arrays are aligned.

    Attributes:
        process: Number of the host process, -1 if unknown.
        size_bytes: Positive for blocks.
        time_ns: When it was allocated.
        end_ns: When it ended, :data:`FAR` where it did not.
        operator: Slice of the operator that allocated it, -1 for none.
    """

    process: Int64
    size_bytes: Int64
    time_ns: Int64
    end_ns: Int64
    operator: Int64


@per_trace
def memory_blocks(trace: Trace) -> MemoryBlocks:
    """What is told of the memory records of a trace; made once."""
    records = memory_records(trace)
    ended = np.append(records.time_ns, FAR)
    stop = records.pairs.end
    end = ended[np.where(stop == NEVER, len(records.time_ns), stop)]
    times = BlockTimes(records.process, records.size_bytes, records.time_ns, end, records.operator)
    return categorize(trace, times)


def categorize(trace: Trace, blocks: BlockTimes) -> MemoryBlocks:
    """What follows from when blocks were allocated and ended among the passes of the steps."""
    count, end = len(blocks.time_ns), blocks.end_ns
    category = np.full(count, -1, np.int8)
    phase = np.full(count, -1, np.int8)
    over, allocated_in_pass = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    is_weight = _of_weight_size(trace, blocks.size_bytes)
    in_operator = end <= _operator_end(trace, blocks.operator)
    own_phase = np.append(slice_phases(trace), -1)[blocks.operator]
    by_process = passes(trace)
    for process in distinct_values(blocks.process).tolist():
        rows = np.flatnonzero((blocks.process == process) & (blocks.size_bytes > 0))
        own = by_process.get(process, by_process.get(-1))
        if own is None:
            category[rows] = _without_phases(in_operator[rows])
            continue
        moments = _Moments(own, blocks.time_ns[rows], end[rows])
        phase[rows] = moments.phases(own_phase[rows])
        over[rows], allocated_in_pass[rows] = moments.passed, moments.begun
        category[rows] = _categories(moments, phase[rows], is_weight[rows], in_operator[rows])
    return MemoryBlocks(category, phase, end, over, allocated_in_pass)


def _without_phases(in_operator: Bools) -> Int8:
    """Where nothing tells phases, only what an operator needs for itself is known."""
    known: Int8 = np.where(
        in_operator, np.int8(MemoryCategory.TEMPORARY), np.int8(MemoryCategory.UNKNOWN)
    )
    return known


class _Moments:
    """Blocks among the passes of their process: what begins while they are alive."""

    def __init__(self, own: Passes, allocated_ns: Int64, end_ns: Int64) -> None:
        self._own = own
        self.allocated_ns, self.end_ns = allocated_ns, end_ns
        self.never = end_ns == FAR
        forward = own.starts(Phase.FORWARD)
        self.next = {phase: _next(own.starts(phase), allocated_ns) for phase in Phase}
        self.begun = np.searchsorted(forward, allocated_ns, side="right")
        # A block that stays is alive at every start there is.
        self.passed = np.searchsorted(forward, end_ns, side="left") - self.begun
        self.passed = np.maximum(self.passed, 0)
        self.is_before_all = self.begun == 0

    def phases(self, of_operator: Int8) -> Int8:
        """The phase each was allocated in: that of its operator, else of the moment."""
        of_moment = phase_at(self._own.stretches, self.allocated_ns, Phase.OTHER)
        phase_known = np.where(of_operator >= 0, of_operator, of_moment)
        # Before the model's first operator the forward pass only prepares.
        is_prepared = (phase_known == Phase.FORWARD) & (of_moment == Phase.OTHER)
        phase: Int8 = np.where(is_prepared, Phase.OTHER, phase_known).astype(np.int8)
        return phase

    def outlives(self, *phases: Phase) -> Bools:
        """Whether each is alive when the next of any of these phases begins, or to the end of the
        recording."""
        begins = np.minimum.reduce([self.next[phase] for phase in phases])
        is_live: Bools = self.never | (begins < self.end_ns)
        return is_live

    def reaches(self, phase: Phase) -> Bools:
        """Whether each is alive when the next stretch of the phase begins, which there is."""
        is_live: Bools = self.next[phase] < self.end_ns
        return is_live


def _next(starts_ns: Int64, time_ns: Int64) -> Int64:
    """The first start after each time, :data:`FAR` for none."""
    return np.append(starts_ns, FAR)[np.searchsorted(starts_ns, time_ns, side="right")]


def _categories(moments: _Moments, phase: Int8, is_weight: Bools, in_operator: Bools) -> Int8:
    """The rules of ``docs/views-memory.md#categories``, in their order."""
    held = moments.passed >= memory_file().held.least_passes
    others = (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER, Phase.DATALOADER)
    allocated_in = {one: phase == one for one in Phase}
    stays = moments.never | held
    outlives = moments.outlives(*others)
    to_forward = moments.reaches(Phase.FORWARD)
    # What is made after the backward pass, before the optimizer, is not made for the next forward.
    prepares = to_forward & (moments.next[Phase.FORWARD] < moments.next[Phase.OPTIMIZER])
    prepares |= to_forward & moments.is_before_all
    is_state = moments.never | (to_forward & moments.reaches(Phase.OPTIMIZER))
    rules: list[tuple[Bools, MemoryCategory]] = [
        (in_operator, MemoryCategory.TEMPORARY),
        (allocated_in[Phase.FORWARD] & ~outlives, MemoryCategory.TEMPORARY),
        (allocated_in[Phase.FORWARD] & held, MemoryCategory.UNKNOWN),
        (allocated_in[Phase.FORWARD], MemoryCategory.ACTIVATION),
        (
            allocated_in[Phase.BACKWARD]
            & moments.outlives(Phase.FORWARD, Phase.OPTIMIZER, Phase.DATALOADER),
            MemoryCategory.GRADIENT,
        ),
        (allocated_in[Phase.BACKWARD], MemoryCategory.TEMPORARY),
        (allocated_in[Phase.OPTIMIZER] & ~outlives, MemoryCategory.TEMPORARY),
        (allocated_in[Phase.OPTIMIZER] & is_state, MemoryCategory.OPTIMIZER_STATE),
        (allocated_in[Phase.DATALOADER] & outlives, MemoryCategory.INPUT),
        (allocated_in[Phase.DATALOADER], MemoryCategory.TEMPORARY),
        (
            allocated_in[Phase.OTHER] & moments.is_before_all & is_weight & stays & to_forward,
            MemoryCategory.PARAMETER,
        ),
        (allocated_in[Phase.OTHER] & prepares & ~held, MemoryCategory.INPUT),
        (allocated_in[Phase.OTHER] & ~outlives, MemoryCategory.TEMPORARY),
    ]
    result: Int8 = np.select(
        [mask for mask, _ in rules], [int(one) for _, one in rules], MemoryCategory.UNKNOWN
    ).astype(np.int8)
    return result


def _of_weight_size(trace: Trace, size_bytes: Int64) -> Bools:
    """Whether each size is that of a weight that an operator took."""
    weights = operands(trace).weight_bytes
    known: Bools = np.isin(size_bytes, np.append(weights, rounded(weights)))
    return known


def _operator_end(trace: Trace, operator: Int64) -> Int64:
    """When the outermost operator around each operator ends, -1 for none."""
    root = gather(root_operators(trace), operator)
    slices = trace.slices
    end = slices["start_ns"].to_numpy() + slices["dur_ns"].to_numpy()
    return gather(end, root)
