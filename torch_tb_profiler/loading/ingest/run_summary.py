"""The summaries of all ranks of a run in one entry of the cache: their tables one below the other.

Reading thousands of small files takes a millisecond each, most of it to open a dozen tables of a
few rows; read together they are a dozen tables in all. The entry is beside the summaries, made of
them, and its key holds theirs: where one of them is another, it is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.loading.ingest.job import SUMMARY_VERSION
from torch_tb_profiler.loading.ingest.summaries import (
    FRAMES,
    WORK,
    SummaryParts,
    small_trace,
    summary_parts,
)
from torch_tb_profiler.loading.ingest.together import RUN_VERSION
from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.cache import BrokenCacheError, meta_from
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.info import ProcessGroup
from torch_tb_profiler.trace.model import Trace, TraceMeta

_FILE = "run.msgpack"
_GROUPS = {
    "calls": ("call_track", "call_ready_ns"),
    "ranges": ("record", "range_start_ns", "range_end_ns"),
    "busy": ("busy_start_ns", "busy_end_ns"),
    "work": tuple(f"work_{name}" for name in WORK),
}
"""Arrays of equal length, as tables."""


def save_run(summaries: Sequence[tuple[str, Trace]], folder: Path) -> None:
    """Write summaries, each with its key, into an existing folder.

    Raises:
        OSError: the folder cannot be written.
    """
    pool: dict[ProcessGroup, int] = {}
    parts = [_with_group_indices(trace, pool) for _, trace in summaries]
    tables = [*FRAMES, *_GROUPS]
    rows: dict[str, list[int]] = {}
    for name in tables:
        frames = [_table(name, each) for each in parts]
        rows[name] = [frame.height for frame in frames]
        whole = pl.concat(frames, rechunk=True)
        whole.write_ipc_stream(folder / f"{name}.arrow", compression="lz4")
    run = {
        "version": [RUN_VERSION, SUMMARY_VERSION],
        "keys": [key for key, _ in summaries],
        "heads": [each.head for each in parts],
        "rows": rows,
        "groups": list(pool),
    }
    (folder / _FILE).write_bytes(msgspec.msgpack.encode(run))


def load_run(folder: Path) -> tuple[dict[str, Trace], int]:
    """The summaries that :func:`save_run` wrote, by key, and the bytes that their tables take
    together.

    Raises:
        BrokenCacheError: the folder holds no complete summaries of this version.
    """
    try:
        run = msgspec.msgpack.decode((folder / _FILE).read_bytes())
        if run["version"] != [RUN_VERSION, SUMMARY_VERSION]:
            raise BrokenCacheError(f"{folder} has versions {run['version']}")
        tables = {name: _read(folder, name, run) for name in (*FRAMES, *_GROUPS)}
        groups = msgspec.convert(run["groups"], set_up(list[ProcessGroup]))
        metas = [_meta(head["meta"], groups) for head in run["heads"]]
        traces = _traces(run["heads"], metas, tables, run["rows"])
        size_bytes = sum(int(table.estimated_size()) for table in tables.values())
        return dict(zip(run["keys"], traces, strict=True)), size_bytes
    except BrokenCacheError:
        raise
    except Exception as error:  # whatever is wrong with an entry, it can be created again
        raise BrokenCacheError(f"{folder} holds no complete run: {error}") from error


def _with_group_indices(trace: Trace, pool: dict[ProcessGroup, int]) -> SummaryParts:
    """The parts of a summary, with indices in place of its process groups: each rank of thousands
    may describe groups of all of them."""
    parts = summary_parts(trace, is_summary=True)
    job = trace.meta.info.job
    if job is not None and job.groups is not None:
        indices = [pool.setdefault(group, len(pool)) for group in job.groups]
        parts.head["meta"]["info"]["job"]["groups"] = indices
    return parts


def _meta(values: dict[str, Any], groups: list[ProcessGroup]) -> TraceMeta:
    """The metadata of a rank, whose groups are the objects that other ranks have too."""
    job = values["info"]["job"]
    indices = None if job is None else job["groups"]
    if indices is None:
        return meta_from(values)
    job["groups"] = None
    meta = meta_from(values)
    known = meta.info.job
    assert known is not None
    own = replace(known, groups=tuple(groups[index] for index in indices))
    return replace(meta, info=replace(meta.info, job=own))


def _table(name: str, parts: SummaryParts) -> pl.DataFrame:
    if name in FRAMES:
        return parts.frames[name]
    return pl.DataFrame({key: np.asarray(parts.arrays[key], np.int64) for key in _GROUPS[name]})


def _read(folder: Path, name: str, run: dict[str, Any]) -> pl.DataFrame:
    table = pl.read_ipc_stream(folder / f"{name}.arrow").rechunk()
    schema = FRAMES.get(name) or pl.Schema(dict.fromkeys(_GROUPS.get(name, ()), pl.Int64))
    rows = run["rows"][name]
    if table.schema != schema or len(rows) != len(run["heads"]) or table.height != sum(rows):
        raise BrokenCacheError(f"table {name} has other columns or rows than were written")
    return table


def _traces(
    heads: list[dict[str, Any]],
    metas: list[TraceMeta],
    tables: dict[str, pl.DataFrame],
    rows: dict[str, list[int]],
) -> list[Trace]:
    first = {name: np.cumsum([0, *counts]).tolist() for name, counts in rows.items()}
    arrays = {key: tables[name][key].to_numpy() for name, keys in _GROUPS.items() for key in keys}
    work = tables["work"].rename({f"work_{name}": name for name in WORK})
    traces = []
    for rank, (head, meta) in enumerate(zip(heads, metas, strict=True)):
        frames = {name: tables[name].slice(first[name][rank], rows[name][rank]) for name in FRAMES}
        own: dict[str, Int64] = {
            key: arrays[key][first[name][rank] : first[name][rank + 1]]
            for name, keys in _GROUPS.items()
            for key in keys
        }
        its_work = work.slice(first["work"][rank], rows["work"][rank])
        traces.append(small_trace(SummaryParts(head, frames, own), meta, its_work))
    return traces
