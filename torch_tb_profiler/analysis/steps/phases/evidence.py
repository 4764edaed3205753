"""What tells the phases of a recording: stretches of host threads that are known to be of one.

Definitions: ``docs/views-phases.md#how-phases-are-found``.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import total_within, union
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.knowledge import phases as knowledge
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Phase(IntEnum):
    """What a moment of a step on the host was for."""

    DATALOADER = 0
    FORWARD = 1
    BACKWARD = 2
    OPTIMIZER = 3
    OTHER = 4


UNKNOWN = -1
"""The phase of what no phase is known of."""

DETECTED_PHASES = (Phase.DATALOADER, Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER)
"""The phases that something tells; the rest of a step is other."""

PHASES_BY_NAME = {phase.name.lower(): phase for phase in Phase}
"""The phases as they are asked for."""


class PhaseSource(IntEnum):
    """What told a phase, strongest first."""

    FRAMEWORK = 0
    AUTOGRAD = 1
    MODULES = 2
    LINKED = 3
    FRAMES = 4
    NAMES = 5
    FALLBACK = 6
    WINDOWS = 7


SOURCE_TITLES = {
    PhaseSource.FRAMEWORK: "ranges of the framework",
    PhaseSource.AUTOGRAD: "autograd nodes",
    PhaseSource.MODULES: "calls of root modules",
    PhaseSource.LINKED: "operators that backward nodes belong to",
    PhaseSource.FRAMES: "Python frames",
    PhaseSource.NAMES: "user ranges named like it",
    PhaseSource.FALLBACK: "calls of compiled graphs",
    PhaseSource.WINDOWS: "the server's windows",
}

_RANGES = (Category.ANNOTATION, Category.OPERATOR, Category.PYTHON_OPERATOR)
_WEAK = (PhaseSource.FALLBACK, PhaseSource.WINDOWS)


class Marks(Struct, frozen=True, eq=False):
    """Slices of host threads that are of one phase as a whole, unless something inside tells
    otherwise. Aligned, in order of slice id.

    Attributes:
        slice: The slice.
        phase: Its :class:`Phase`.
        source: What told it, a :class:`Source`.
        whole: Phases that the framework declares whole: nothing lies between two of their marks.
    """

    slice: Int64
    phase: Int8
    source: Int8
    whole: frozenset[Phase]

    def sources_of(self, phase: Phase) -> dict[PhaseSource, int]:
        """What told ``phase``, and by how many slices, strongest first."""
        counts = np.bincount(self.source[self.phase == phase], minlength=len(PhaseSource))
        return {source: int(counts[source]) for source in PhaseSource if counts[source]}


class _Candidates(Struct, frozen=True, eq=False):
    """Slices and what tells of them; aligned."""

    slice: Int64
    phase: Int8
    source: Int8
    whole: Bools

    @classmethod
    def alike(cls, slices: Int64, phase: Phase, source: PhaseSource) -> _Candidates:
        """Slices that the same tells the same of."""
        count = len(slices)
        return cls(
            slices.astype(np.int64),
            np.full(count, phase, np.int8),
            np.full(count, source, np.int8),
            np.zeros(count, np.bool_),
        )

    def rows(self, keep: Bools | Int64) -> _Candidates:
        """Some of them."""
        return _Candidates(self.slice[keep], self.phase[keep], self.source[keep], self.whole[keep])


@per_trace
def marks(trace: Trace) -> Marks:
    """What tells the phases of ``trace``; made once. Weak evidence counts where no other tells."""
    parts = (*_structural(trace), _by_category(trace), _by_name(trace), _windows(trace))
    candidates = _Candidates(
        np.concatenate([part.slice for part in parts]),
        np.concatenate([part.phase for part in parts]),
        np.concatenate([part.source for part in parts]),
        np.concatenate([part.whole for part in parts]),
    )
    candidates = candidates.rows(trace.slices["dur_ns"].to_numpy()[candidates.slice] > 0)
    keep = np.ones(len(candidates.slice), np.bool_)
    whole = set()
    for phase in DETECTED_PHASES:
        of_phase = candidates.phase == phase
        if np.any(of_phase & candidates.whole):
            whole.add(phase)
            keep &= ~of_phase | candidates.whole
    candidates = candidates.rows(keep)
    for weak in _WEAK:
        candidates = candidates.rows(~_overlaps_stronger(trace, candidates, weak))
    # Of several that tell of one slice the strongest counts.
    order = np.lexsort((candidates.source, candidates.slice))
    ids = candidates.slice[order]
    first = order[np.append(True, ids[1:] != ids[:-1])[: len(ids)]]
    candidates = candidates.rows(first)
    return Marks(candidates.slice, candidates.phase, candidates.source, frozenset(whole))


def _overlaps_stronger(trace: Trace, candidates: _Candidates, weak: PhaseSource) -> Bools:
    """Which marks of a weak source something stronger tells of too: on the same thread, inside
    them or around them."""
    is_weak = candidates.source == weak
    overlaps = np.zeros(len(is_weak), np.bool_)
    start = trace.slices["start_ns"].to_numpy()[candidates.slice]
    end = start + trace.slices["dur_ns"].to_numpy()[candidates.slice]
    track = trace.slices["track"].to_numpy()[candidates.slice]
    for number in distinct_values(track[is_weak]).tolist():
        rows = np.flatnonzero(is_weak & (track == number))
        strong = (candidates.source < weak) & (track == number)
        stronger = union(start[strong], end[strong])
        overlaps[rows] = total_within(stronger, start[rows], end[rows]) > 0
    return overlaps


def _structural(trace: Trace) -> tuple[_Candidates, ...]:
    """What the profiler itself tells: its ranges, autograd nodes, modules."""
    category = trace.slices["category"].to_numpy()
    nodes = backward_nodes(trace)
    linked = trace.operators["forward"].drop_nulls().unique().to_numpy()
    linked = linked[nodes.around[linked] < 0]
    tree = module_tree(trace)
    roots = np.flatnonzero((tree.parent < 0) & ~tree.is_recomputed)
    is_part = np.array([knowledge.is_beyond_model(name) for name in tree.nodes.name], np.bool_)
    roots = tree.slice[roots[~is_part[tree.node[roots]]]]
    of_category = {
        Phase.DATALOADER: np.flatnonzero(category == Category.DATALOADER),
        Phase.OPTIMIZER: np.flatnonzero(category == Category.OPTIMIZER),
    }
    return (
        *(
            _Candidates.alike(ids, phase, PhaseSource.FRAMEWORK)
            for phase, ids in of_category.items()
        ),
        _Candidates.alike(nodes.slice[nodes.outer < 0], Phase.BACKWARD, PhaseSource.AUTOGRAD),
        _Candidates.alike(roots, Phase.FORWARD, PhaseSource.MODULES),
        _Candidates.alike(linked, Phase.FORWARD, PhaseSource.LINKED),
    )


def _by_category(trace: Trace) -> _Candidates:
    """Ranges whose own category is a phase (Paddle's)."""
    slices = trace.slices
    rows = np.flatnonzero(slices["category"].to_numpy() == Category.ANNOTATION)
    raw = indices(slices["raw_category_code"].gather(rows))
    rows, raw = rows[raw >= 0], raw[raw >= 0]
    return _candidates(rows, codes.map_names(trace, raw, _category_verdict, np.int16))


def _by_name(trace: Trace) -> _Candidates:
    """Ranges and frames whose names tell."""
    category = trace.slices["category"].to_numpy()
    names = trace.slices["name_code"].to_numpy()
    ranges = np.flatnonzero(np.isin(category, _RANGES))
    frames = np.flatnonzero(category == Category.PYTHON_FUNCTION)
    by_range = _candidates(ranges, codes.map_names(trace, names[ranges], _range_verdict, np.int16))
    by_frame = _candidates(frames, codes.map_names(trace, names[frames], _frame_verdict, np.int16))
    return _Candidates(
        np.concatenate((by_range.slice, by_frame.slice)),
        np.concatenate((by_range.phase, by_frame.phase)),
        np.concatenate((by_range.source, by_frame.source)),
        np.concatenate((by_range.whole, by_frame.whole)),
    )


def _windows(trace: Trace) -> _Candidates:
    return _Candidates.alike(serving_ranges(trace), Phase.FORWARD, PhaseSource.WINDOWS)


@per_trace
def serving_ranges(trace: Trace) -> Int64:
    """Host ranges around iterations of a server's scheduler, in order of slice id; made once."""
    slices = trace.slices
    rows = np.flatnonzero(np.isin(slices["category"].to_numpy(), _RANGES))
    names = slices["name_code"].to_numpy()[rows]
    ids: Int64 = rows[codes.map_names(trace, names, _is_window, np.bool_)]
    return ids


def _is_window(name: str) -> bool:
    return knowledge.serving_window(name) is not None


_NONE = -1
_SOURCES = {
    "framework": PhaseSource.FRAMEWORK,
    "node": PhaseSource.AUTOGRAD,
    "frame": PhaseSource.FRAMES,
    "fallback": PhaseSource.FALLBACK,
}


def _verdict(phase: str, source: PhaseSource, whole: bool) -> int:
    return int(PHASES_BY_NAME[phase]) * 100 + int(source) * 10 + int(whole)


def _of_rule(rule: knowledge.RangeRule | None) -> int:
    return _NONE if rule is None else _verdict(rule.phase, _SOURCES[rule.source], rule.whole)


def _category_verdict(category: str) -> int:
    return _of_rule(knowledge.category_rule(category))


def _frame_verdict(name: str) -> int:
    rule = knowledge.range_rule(name)
    return _of_rule(rule) if rule is not None and rule.source == "frame" else _NONE


def _range_verdict(name: str) -> int:
    rule = knowledge.range_rule(name)
    if rule is not None:
        return _of_rule(rule) if rule.source != "frame" else _NONE
    phase = knowledge.phase_of_words(name)
    return _NONE if phase is None else _verdict(phase, PhaseSource.NAMES, False)


def _candidates(slices: Int64, verdicts: npt.NDArray[np.int16]) -> _Candidates:
    is_known = verdicts >= 0
    verdict = verdicts[is_known]
    return _Candidates(
        slices[is_known].astype(np.int64),
        (verdict // 100).astype(np.int8),
        (verdict // 10 % 10).astype(np.int8),
        (verdict % 10).astype(np.bool_),
    )
