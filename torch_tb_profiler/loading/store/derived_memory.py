"""How much memory the values derived from open traces take."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.trace_memory import derived_bytes_of
from torch_tb_profiler.trace.model import Trace

MOST_SUMMARIES = 16
"""Summaries that are measured: of thousands, from which the same views derive the same, it would
take longer than those views."""


def measured_derived(opened: Sequence[tuple[Entry, Trace]]) -> list[tuple[Entry, int, int]]:
    """Per entry how many values are derived from its trace, and their bytes; of many summaries the
    median of some of them. One of a run also holds what is derived from all of its ranks: it has
    more values than the others, and is always measured."""
    summaries = [each for each in opened if each[0].part == "summary"]
    every = -(-len(summaries) // MOST_SUMMARIES) or 1
    largest = sorted(summaries, key=lambda each: -each[1].derived.count)[:1]
    measured = [*summaries[::every], *largest]
    sample = {entry.key: derived_bytes_of(trace) for entry, trace in measured}
    median_bytes = int(median(sample.values())) if sample else 0
    return [
        (
            entry,
            trace.derived.count,
            derived_bytes_of(trace)
            if entry.part == "trace"
            else sample.get(entry.key, median_bytes),
        )
        for entry, trace in opened
    ]
