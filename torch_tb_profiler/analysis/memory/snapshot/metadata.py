"""What the program and PyTorch attached to allocations of a snapshot, by key and value.

Definitions: ``docs/views-snapshot.md#metadata``.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import lifetimes, side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import DeviceMoments, live_allocations
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.model import Trace

SOURCES = {"user_metadata": "program", "internal_metadata": "PyTorch"}
"""Column of ``snapshot_metadata`` → who attached it."""

TEXT_KEY = ""
"""The key of a text that is no dictionary."""

MAX_KEYS = 64
"""Further keys of a dictionary are left out."""

MAX_CHARS = 200
"""Longer keys and values are cut."""


def metadata_rows(trace: Trace, allocations: Int64) -> Int64:
    """Per allocation its row in ``snapshot_metadata``, -1 for none.

    Args:
        trace: A snapshot.
        allocations: Places in :func:`lifetimes`.
    """
    events: Int64 = side_frame(trace, "snapshot_metadata")["event"].to_numpy()
    return positions_in(events, lifetimes(trace).born[allocations])


def size_by_metadata(trace: Trace, moments: DeviceMoments, row: int) -> pl.DataFrame:
    """What is alive on a device after an event of its own, by metadata, the largest first.

    An allocation whose text is a dictionary counts in a row of each of its keys.

    Returns:
        ``source`` (a value of :data:`SOURCES`), ``key``, ``value``, ``size_bytes``, ``blocks``,
        ``pct`` (of all that is alive); the first three are null in the row of allocations without
        metadata. No rows where no allocation of the snapshot has any.
    """
    schema = {
        "source": pl.String, "key": pl.String, "value": pl.String, "size_bytes": pl.Int64,
        "blocks": pl.Int64, "pct": pl.Float64,
    }  # fmt: skip
    known = side_frame(trace, "snapshot_metadata")
    if known.is_empty():
        return pl.DataFrame(schema=schema)
    allocations = live_allocations(trace, moments, row)
    size = lifetimes(trace).size_bytes[allocations]
    at = metadata_rows(trace, allocations)
    parts: list[tuple[str | None, str | None, str | None, int, int]] = [
        (None, None, None, int(size[at < 0].sum()), int((at < 0).sum()))
    ]
    texts = known[at[at >= 0]].with_columns(size_bytes=pl.Series(size[at >= 0], dtype=pl.Int64))
    for column, source in SOURCES.items():
        by_text = texts.group_by(column).agg(pl.col("size_bytes").sum(), blocks=pl.len())
        for text, size_bytes, blocks in by_text.drop_nulls(column).iter_rows():
            parts += [
                (source, key, value, size_bytes, blocks) for key, value in metadata_items(text)
            ]
    columns = list(schema)[:-1]
    frame = pl.DataFrame(parts, columns, orient="row").cast(
        {name: schema[name] for name in columns}
    )
    total = max(int(size.sum()), 1)
    return (
        frame.group_by("source", "key", "value")
        .agg(pl.col("size_bytes", "blocks").sum())
        .with_columns(pct=pl.col("size_bytes") / total * 100)
        .filter(pl.col("blocks") > 0)
        .sort("size_bytes", "source", "key", "value", descending=[True, False, False, False])
    )


@lru_cache(maxsize=4096)
def metadata_items(text: str) -> tuple[tuple[str, str], ...]:
    """The items of a dictionary in JSON text; any other text under :data:`TEXT_KEY`."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return ((TEXT_KEY, text[:MAX_CHARS]),)
    return tuple(
        (key[:MAX_CHARS], (each if isinstance(each, str) else json.dumps(each))[:MAX_CHARS])
        for key, each in list(value.items())[:MAX_KEYS]
    )
