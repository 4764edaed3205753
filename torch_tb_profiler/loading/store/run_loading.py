"""The summaries of thousands of ranks from one entry of the cache, instead of one each."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from torch_tb_profiler.loading.ingest.job import provide_rules, summary_key
from torch_tb_profiler.loading.ingest.together import FEWEST_RANKS, load_run, run_key, store_run
from torch_tb_profiler.loading.opening.open_file import OpenedFile, lookup_state
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.trace_memory import TraceMemory
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import FileState

OBJECT_BYTES = 40_000
"""Memory of the objects of one summary beside its values: a dozen tables of a dozen columns."""

_LOGGER = logging.getLogger(__name__)

Loaded = list[tuple[Entry, tuple[OpenedFile, TraceMemory]]]


def load_cached_run(cache: CacheFolder, entries: Sequence[Entry]) -> Loaded | None:
    """The summaries of ``entries`` from the cache entry of all of them; None where there is none of
    exactly these files in their current state."""
    if len(entries) < FEWEST_RANKS:
        return None
    try:
        states = [lookup_state(entry.file.location, entry.file.state) for entry in entries]
        keys = _keys(entries, states)
        key = run_key(keys)
        if not cache.has_local(key):
            return None
        loaded = cache.load(key, load_run)
    except Exception:
        _LOGGER.debug("no summary of the run in the cache", exc_info=True)
        return None
    if loaded is None:
        return None
    traces, size_bytes = loaded
    memory = TraceMemory(size_bytes // len(keys) + OBJECT_BYTES, 0)
    results: Loaded = []
    for entry, state, own in zip(entries, states, keys, strict=True):
        provide_rules(traces[own], entry.rules)
        results.append((entry, (OpenedFile(traces[own], state), memory)))
    return results


def store_opened_run(cache: CacheFolder, opened: Sequence[tuple[Entry, OpenedFile]]) -> None:
    """:func:`store_run` of summaries that were loaded one by one."""
    entries = [entry for entry, _ in opened]
    try:
        keys = _keys(entries, [each.state for _, each in opened])
        traces = [each.trace for _, each in opened]
        store_run(cache, list(zip(keys, traces, strict=True)))
    except Exception:  # it only saves time later
        _LOGGER.debug("the summaries of the run are not stored together", exc_info=True)


def _keys(entries: Sequence[Entry], states: Sequence[FileState]) -> list[str]:
    return [
        summary_key(entry.file.location, state, entry.rules)
        for entry, state in zip(entries, states, strict=True)
    ]
