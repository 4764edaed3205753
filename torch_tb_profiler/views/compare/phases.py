"""The phases of a step – loading, forward, backward, optimizer – whatever their names are.

An in-process data loader (``…#_SingleProcessDataLoaderIter.__next__``) and one with workers
(``…#_MultiProcessingDataLoaderIter.__next__``) are the same phase, and so are the steps of two
optimizers: compared by name, the loader would be hidden.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.operators.modules.times import module_times
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.steps.masks import slice_mask, slice_steps
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.compare.steps import StepBasis, step_samples
from torch_tb_profiler.views.compare.tables import (
    SHARE,
    Measure,
    Side,
    by_size_of_change,
    compared_table,
    pair_by_key,
    pair_spec,
)
from torch_tb_profiler.views.schema import Column, Table

DATALOADER = "DataLoader"
FORWARD = "Forward"
BACKWARD = "Backward"

PHASE_MEASURES = (
    Measure("calls", "Calls", "count"),
    Measure("host_total_us", "Host Total", "us", sampled=True),
    Measure("device_total_us", "Device Total", "us", sampled=True),
)


PHASES = pair_spec(
    "phases",
    "Phases",
    "One row per phase of the steps: data loading, forward, backward, optimizer. Phases are "
    "matched by kind, not by the names of their ranges.",
    keys=(
        Column("phase", "Phase", "string", None, "What it is."),
        Column(
            "baseline_names", "Baseline Names", "string", None, "Names of its ranges on that side."
        ),
        Column(
            "candidate_names",
            "Candidate Names",
            "string",
            None,
            "Names of its ranges on that side.",
        ),
    ),
    measures=PHASE_MEASURES,
    more=(SHARE,),
)


class PhaseSide(Struct, frozen=True, eq=False):
    """Phases of one side.

    Attributes:
        phases: Name of each phase, the same on every side.
        names: The recorded names of its ranges.
        side: Its numbers.
    """

    phases: list[str]
    names: list[str]
    side: Side


class _Ranges(Struct, eq=False):
    """Ranges that make up phases, as parallel lists of arrays."""

    phases: list[str] = field(default_factory=list)
    names: list[set[str]] = field(default_factory=list)
    phase: list[Int64] = field(default_factory=list)
    slices: list[Int64] = field(default_factory=list)
    device_ns: list[Int64] = field(default_factory=list)

    def add(self, phase: str, name: str, slices: Int64, device_ns: Int64) -> None:
        """Add ranges of one phase that were recorded under one name."""
        if phase not in self.phases:
            self.phases.append(phase)
            self.names.append(set())
        number = self.phases.index(phase)
        self.names[number].add(name)
        self.phase.append(np.full(len(slices), number))
        self.slices.append(slices)
        self.device_ns.append(device_ns)


def phase_side(basis: StepBasis) -> PhaseSide:
    """The phases of a trace: loader and optimizer ranges, outermost modules, backward nodes."""
    trace = basis.trace
    ranges = _ranges(trace)
    count = len(ranges.phases)
    empty = [np.empty(0, np.int64)]
    phase, slices, device_ns = (
        np.concatenate(parts or empty) for parts in (ranges.phase, ranges.slices, ranges.device_ns)
    )
    mask = slice_mask(trace, basis.selection)[slices]
    phase, slices, device_ns = phase[mask], slices[mask], device_ns[mask]
    step = slice_steps(trace)[slices]
    values = {"calls": np.bincount(phase, minlength=count) / basis.divisor}
    samples = {}
    host_ns = trace.slices["dur_ns"].to_numpy()[slices]
    for key, ns in (("host_total_us", host_ns), ("device_total_us", device_ns)):
        values[key] = np.bincount(phase, ns, count) / (basis.divisor * NS_PER_US)
        samples[key] = step_samples(basis, phase, step, ns / NS_PER_US, keys=count)
    reasons = {}
    unknown = no_device_time(trace)
    if unknown is not None:
        reasons["device_total_us"] = unknown
        values["device_total_us"] = np.full(count, np.nan)
    names = [", ".join(sorted(recorded)) for recorded in ranges.names]
    return PhaseSide(ranges.phases, names, Side(count, values, samples, reasons))


@per_trace
def _ranges(trace: Trace) -> _Ranges:
    ranges = _Ranges()
    slices = trace.slices
    category = slices["category"].to_numpy()
    names = slices["name_code"].to_numpy()
    device_ns = slices["device_total_ns"].fill_null(0).to_numpy()
    parent = indices(slices["parent"])
    for kind in (Category.DATALOADER, Category.OPTIMIZER):
        inner = gather(category.astype(np.int64), parent) == kind
        outer = np.flatnonzero((category == kind) & ~inner)
        for code in distinct_values(names[outer]).tolist():
            name = str(trace.strings[code])
            of_phase = outer[names[outer] == code]
            phase = DATALOADER if kind == Category.DATALOADER else name.partition("#")[0]
            ranges.add(phase, name, of_phase, device_ns[of_phase])
    tree = module_tree(trace)
    times = module_times(trace)
    outermost = np.flatnonzero((tree.parent < 0) & ~tree.is_recomputed)
    for node in distinct_values(tree.node[outermost]).tolist():
        of_phase = outermost[tree.node[outermost] == node]
        ranges.add(
            FORWARD, tree.nodes.name[node], tree.slice[of_phase], times.device_total_ns[of_phase]
        )
    nodes = backward_nodes(trace)
    backward = nodes.slice[nodes.outer < 0]
    if len(backward):
        ranges.add(BACKWARD, "autograd engine", backward, device_ns[backward])
    return ranges


def compared_phases(bases: tuple[StepBasis, StepBasis]) -> Table:
    """The phases of both sides, the largest change on top."""
    a, b = phase_side(bases[0]), phase_side(bases[1])
    pairing = pair_by_key(a.phases, b.phases)
    left, right = pairing.baseline.tolist(), pairing.candidate.tolist()
    keys = {
        "phase": [a.phases[i] if i >= 0 else b.phases[k] for i, k in zip(left, right, strict=True)],
        "baseline_names": [a.names[i] if i >= 0 else None for i in left],
        "candidate_names": [b.names[k] if k >= 0 else None for k in right],
    }
    table = compared_table(PHASES, keys, PHASE_MEASURES, sides=(a.side, b.side), pairing=pairing)
    return by_size_of_change(table, "delta_host_total_us")
