"""What the memory allocated before the recording is likely to be: parameters and their optimizer's
state, by the gradients that one backward pass accumulates
(``docs/views-memory.md#before-the-recording``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.codes import of_names
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.memory.categories import MemoryCategory, memory_blocks
from torch_tb_profiler.analysis.memory.operands import distinct_arguments
from torch_tb_profiler.analysis.memory.passes import passes
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.phases.evidence import Phase
from torch_tb_profiler.knowledge.memory import memory_file, optimizer_states
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True)
class Earlier:
    """Estimates of what was allocated on a device before the recording, in bytes.

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


@per_trace
def earlier(trace: Trace) -> list[Earlier]:
    """Per device of the memory records what of it is estimated; made once. Only for recordings of
    one process that has shapes of gradients, of the device that holds most of them."""
    records = memory_records(trace)
    nothing = [Earlier() for _ in records.devices]
    parameters = _parameter_bytes(trace)
    if not parameters or len(np.unique(records.process)) > 1:
        return nothing
    category = memory_blocks(trace).category

    def seen(of: MemoryCategory) -> Int64:
        rows = np.flatnonzero(category == of)
        sums = np.zeros(len(records.devices), np.int64)
        np.add.at(sums, records.device[rows], records.size_bytes[rows])
        return sums

    device = int(np.argmax(seen(MemoryCategory.GRADIENT)))
    before = max(parameters - int(seen(MemoryCategory.PARAMETER)[device]), 0)
    state = max(_states(trace) * parameters - int(seen(MemoryCategory.OPTIMIZER_STATE)[device]), 0)
    nothing[device] = Earlier(before, state)
    return nothing


def _parameter_bytes(trace: Trace) -> int:
    """The most that one backward pass accumulates gradients of, in bytes; 0 where not told."""
    known = frozenset(memory_file().accumulation.operators)
    arguments = trace.operators
    slices = arguments["slice"].to_numpy()
    names = trace.slices["name_code"].to_numpy()[slices]
    shapes, types = (indices(arguments[key]) for key in ("input_shape_code", "input_type_code"))
    rows = np.flatnonzero(
        of_names(trace, names, lambda name: name in known, np.bool_) & (shapes >= 0) & (types >= 0)
    )
    own = passes(trace).get(-1)
    if not len(rows) or own is None:
        return 0
    kinds, kind = distinct_arguments(trace, shapes[rows], types[rows])
    sizes = np.array(
        [sum(one.size_bytes or 0 for part in given for one in part) for given in kinds], np.int64
    )
    start = trace.slices["start_ns"].to_numpy()[slices[rows]]
    of_pass = np.searchsorted(own.starts(Phase.BACKWARD), start, side="right")
    sums = np.zeros(int(of_pass.max()) + 1, np.int64)
    np.add.at(sums, of_pass, sizes[kind])
    return int(sums.max())


def _states(trace: Trace) -> int:
    """Tensors as large as a parameter that the recorded optimizers keep of each; 0 where unknown,
    or where several differ."""
    known = optimizer_states()
    codes = np.unique(trace.slices["name_code"].to_numpy())
    steps = {
        text
        for code in codes.tolist()
        if (text := trace.text(code) or "").startswith("Optimizer.step#")
    }
    states = {known.get(text, 0) for text in steps}
    return states.pop() if len(states) == 1 else 0
