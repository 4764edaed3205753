"""The call that launched each piece of device work, by process and correlation id."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torch_tb_profiler.importers.nsys.api_calls import ApiCalls
from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.lookup import positions_in

FEW_PROCESSES = 8
"""Up to this number the rows of each process are looked up one by one, without sorting."""


class CallsByCorrelation:
    """The calls of a recording by process and correlation id (unique within a process). Among
    several calls with the same id the first counts."""

    def __init__(self, calls: ApiCalls) -> None:
        slices = calls.part.slices
        self._rows: dict[int, tuple[Int64, Int64]] = {}
        counts = (slices.category == Category.RUNTIME) & (slices.correlation > 0)
        for pid, rows in _by_process(calls.global_pid, np.flatnonzero(counts)):
            ordered, correlation = rows, slices.correlation[rows]
            if (correlation[1:] <= correlation[:-1]).any():
                ordered = rows[np.lexsort((slices.start_ns[rows], correlation))]
                correlation = slices.correlation[ordered]
            first = np.ones(len(ordered), np.bool_)
            first[1:] = correlation[1:] != correlation[:-1]
            self._rows[pid] = correlation[first], ordered[first]

    @property
    def processes(self) -> set[int]:
        """The processes that made calls."""
        return set(self._rows)

    def find(self, global_pid: Int64, correlation: Int64) -> Int64:
        """Per piece of work the row of its call among the calls; :data:`ABSENT` if there is
        none."""
        launch = np.full(len(correlation), ABSENT)
        for pid, rows in _by_process(global_pid, np.arange(len(correlation))):
            if pid in self._rows:
                known, calls = self._rows[pid]
                position = positions_in(known, correlation[rows])
                launch[rows] = np.where(position >= 0, np.append(calls, ABSENT)[position], ABSENT)
        return launch


def _by_process(global_pid: Int64, rows: Int64) -> Iterator[tuple[int, Int64]]:
    """Each process with its rows."""
    known, inverse = distinct(global_pid[rows])
    if len(known) == 1:
        yield int(known[0]), rows
        return
    if len(known) <= FEW_PROCESSES:
        for number, pid in enumerate(known.tolist()):
            yield pid, rows[np.flatnonzero(inverse == number)]
        return
    order = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[order], np.arange(len(known) + 1))
    for number, pid in enumerate(known.tolist()):
        yield pid, rows[order[bounds[number] : bounds[number + 1]]]
