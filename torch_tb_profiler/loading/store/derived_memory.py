"""How much memory the values derived from open traces take."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.trace_memory import derived_bytes_of
from torch_tb_profiler.trace.model import Trace

MOST_SUMMARIES = 64
"""Summaries that are measured: of thousands, from which the same views derive the same, it would
take longer than those views."""


def measured_derived(opened: Sequence[tuple[Entry, Trace]]) -> list[tuple[Entry, int, int]]:
    """Per entry how many values are derived from its trace, and their bytes; of many summaries the
    mean of some of them."""
    summaries = [each for each in opened if each[0].part == "summary"]
    every = -(-len(summaries) // MOST_SUMMARIES) or 1
    sample = {entry.key: derived_bytes_of(trace) for entry, trace in summaries[::every]}
    mean_bytes = sum(sample.values()) // len(sample) if sample else 0
    return [
        (
            entry,
            trace.derived.count,
            derived_bytes_of(trace) if entry.part == "trace" else sample.get(entry.key, mean_bytes),
        )
        for entry, trace in opened
    ]
