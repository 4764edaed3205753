"""Scopes of operators by level: when each device ran operators of which part of the program.

Operators of MindSpore have no slice of their scopes; these follow from their full names
(``analysis.recording.operator_paths``). Definitions: ``docs/views-timeline.md#groups-as-tracks``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.recording.operator_paths import SEPARATOR, operator_paths
from torch_tb_profiler.analysis.steps.masks import device_work_steps
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_DEPTH = 8
"""Levels that are drawn at most."""

_NONE = -1


class ScopeRuns(Struct, frozen=True, eq=False):
    """Runs of operators of one scope on a device, one after the other in time; times of the trace.

    Attributes:
        name: Number of the scope's name in :attr:`OperatorScopes.names`.
        start_ns: Start of the first operator.
        end_ns: End of the last one to end.
    """

    name: Int64
    start_ns: Int64
    end_ns: Int64


class OperatorScopes(Struct, frozen=True):
    """The scopes of a recording.

    Attributes:
        names: Their names, each once.
        runs: Device → its levels, from the outermost.
    """

    names: list[str]
    runs: dict[int, list[ScopeRuns]]


@per_trace
def scopes(trace: Trace) -> OperatorScopes:
    """The scopes of the operators on every device; cached per trace.

    Operators that begin one after the other, in one step, and in one scope, are one run of it,
    whatever their streams.
    """
    paths = operator_paths(trace)
    if not paths:
        return OperatorScopes([], {})
    tree = _Tree()
    scope_of = np.full((len(trace.strings), MAX_DEPTH), _NONE, np.int64)
    for name_code, path in paths.items():
        parts = path.split(SEPARATOR)[:-1][:MAX_DEPTH]
        scope_of[name_code, : len(parts)] = tree.numbers(parts)
    work = trace.device_work
    code = work["name_code"].to_numpy()
    device, step = indices(work["device"]), device_work_steps(trace)
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    rows = np.flatnonzero((device >= 0) & (scope_of[code, 0] >= 0))
    rows = rows[np.lexsort((start[rows], device[rows]))]
    names = np.array(tree.names, np.int64)
    runs: dict[int, list[ScopeRuns]] = {}
    for number in distinct_values(device[rows]).tolist():
        mine = rows[device[rows] == number]
        levels = (
            _runs(scope_of[code[mine], level], step[mine], start[mine], end[mine], names)
            for level in range(MAX_DEPTH)
        )
        runs[number] = [level for level in levels if len(level.name)]
    return OperatorScopes(list(tree.texts), runs)


class _Tree:
    """Numbers of scopes: one name in two scopes is two."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self.names: list[int] = []
        self.texts: dict[str, int] = {}

    def numbers(self, parts: list[str]) -> list[int]:
        """The scopes from the outermost to the innermost."""
        numbers: list[int] = []
        above = _NONE
        for part in parts:
            number = self._numbers.setdefault((above, part), len(self._numbers))
            if number == len(self.names):
                self.names.append(self.texts.setdefault(part, len(self.texts)))
            numbers.append(number)
            above = number
        return numbers


def _runs(scope: Int64, step: Int64, start_ns: Int64, end_ns: Int64, names: Int64) -> ScopeRuns:
    """The runs of one level. Args: per operator, by start."""
    changes = (scope[1:] != scope[:-1]) | (step[1:] != step[:-1])
    first = np.flatnonzero(np.append(True, changes))
    ends = np.maximum.reduceat(end_ns, first)
    of_scope = scope[first] >= 0
    return ScopeRuns(names[scope[first][of_scope]], start_ns[first][of_scope], ends[of_scope])
