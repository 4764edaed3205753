"""Reads entries of the store in a thread, and delivers what they hold."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Protocol

from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.entry_loading import (
    Absent,
    Result,
    load_cached_summary,
    load_entry,
)
from torch_tb_profiler.loading.store.run_loading import load_cached_run, store_opened_run
from torch_tb_profiler.storage.cache_folder import CacheFolder

BATCH_SIZE = 64
"""Summaries that are delivered together: each delivery wakes all waiting requests."""


class Reader(Protocol):
    """Whoever waits for entries."""

    def store_results(self, results: Iterable[tuple[Entry, Result | Absent]]) -> None:
        """Store the results of entries that were read."""

    def end_reading(self) -> None:
        """A thread has read all its entries."""


def read_entries(
    reader_ref: weakref.ref[Reader],
    parser: Parser,
    cache: CacheFolder | None,
    entries: Sequence[Entry],
) -> None:
    """Open one file, or load several summaries, in a thread without a reference to the store."""
    together = None if cache is None else load_cached_run(cache, entries)
    if together is not None:
        _deliver(reader_ref, parser, together)
    else:
        _read_each(reader_ref, parser, cache, entries)
    del together
    reader = reader_ref()
    if reader is not None:
        reader.end_reading()


def _read_each(
    reader_ref: weakref.ref[Reader],
    parser: Parser,
    cache: CacheFolder | None,
    entries: Sequence[Entry],
) -> None:
    loaded: list[tuple[Entry, OpenedFile]] = []
    for start in range(0, len(entries), BATCH_SIZE):
        results: list[tuple[Entry, Result | Absent]] = []
        for entry in entries[start : start + BATCH_SIZE]:
            result: Result | Absent
            if cache is not None and entry.may_be_cached:
                result = load_cached_summary(cache, entry)
                if isinstance(result, tuple):
                    loaded.append((entry, result[0]))
            else:
                result = load_entry(parser, cache, entry)
            results.append((entry, result))
        _deliver(reader_ref, parser, results)
        del results
    if cache is not None and len(loaded) == len(entries):
        store_opened_run(cache, loaded)


def _deliver(
    reader_ref: weakref.ref[Reader],
    parser: Parser,
    results: Sequence[tuple[Entry, Result | Absent]],
) -> None:
    parser.announce(-sum(entry.file.state.size_bytes for entry, _ in results))
    reader = reader_ref()
    if reader is not None:
        reader.store_results(results)
