"""The summaries of many ranks stored together, for whoever opens all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch_tb_profiler.knowledge.user_rules import UserRules
from torch_tb_profiler.loading.ingest.job import SUMMARY_VERSION, read_summary, summary_key
from torch_tb_profiler.storage.cache_folder import CacheFolder, cache_key
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

FEWEST_RANKS = 256
"""Summaries from which on reading them together pays: of fewer each is there in a millisecond."""

RUN_VERSION = 2
"""Increase with every change of how summaries are stored together."""


def run_key(keys: Sequence[str]) -> str:
    """The cache key of the summaries with these keys, in any order."""
    return cache_key("run", str(RUN_VERSION), str(SUMMARY_VERSION), *sorted(keys))


def store_run(cache: CacheFolder, summaries: Sequence[tuple[str, Trace]]) -> str | None:
    """Store summaries together, each with its key; returns the key of all, None where they are
    fewer than :data:`FEWEST_RANKS` or could not be stored."""
    if len(summaries) < FEWEST_RANKS:
        return None
    key = run_key([own for own, _ in summaries])
    is_stored = cache.holds(key) or cache.store(key, lambda folder: save_run(summaries, folder))
    return key if is_stored else None


def store_ingested_runs(files: Sequence[SpanFile], cache: CacheFolder, rules: UserRules) -> None:
    """Store the summaries of each run and span together, as far as all of them are in the local
    cache folder: those in a bucket alone would have to be downloaded for it."""
    runs: dict[tuple[str, str], list[SpanFile]] = {}
    for file in files:
        runs.setdefault((file.run, file.span), []).append(file)
    for members in runs.values():
        keys = [summary_key(file.location, file.state, rules) for file in members]
        if len(keys) < FEWEST_RANKS or not all(map(cache.has_local, keys)):
            continue
        if cache.has_local(run_key(keys)):
            continue
        summaries = [
            (key, summary)
            for key, file in zip(keys, members, strict=True)
            if (summary := read_summary(file.location, file.state, cache, rules)) is not None
        ]
        key = store_run(cache, summaries) if len(summaries) == len(keys) else None
        if key is not None:
            cache.share(key)


def save_run(summaries: Sequence[tuple[str, Trace]], folder: Path) -> None:
    """``run_summary.save_run``; its imports from ``analysis`` are loaded on demand."""
    from torch_tb_profiler.loading.ingest.run_summary import save_run as save  # noqa: PLC0415

    save(summaries, folder)


def load_run(folder: Path) -> tuple[dict[str, Trace], int]:
    """``run_summary.load_run``; imported on demand likewise."""
    from torch_tb_profiler.loading.ingest.run_summary import load_run as load  # noqa: PLC0415

    return load(folder)
