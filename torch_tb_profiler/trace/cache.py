"""Save and load a trace: one uncompressed Arrow stream per table, and the rest in JSON.

Uncompressed, because the cache exists for fast reopening; streams, because polars splits Arrow
files into batches and views need contiguous columns. Permissions, locking, checksums and eviction
are the cache folder's task, not this module's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.info import ProcessGroup
from torch_tb_profiler.trace.model import TABLE_NAMES, Trace, TraceMeta, schema_of
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

TRACE_SCHEMA_VERSION = 57
"""Increase with every change of the tables, of their meaning, or of how the builder fills them."""

LARGE_GROUP = 64
"""Members from which on equal process groups are one object: of smaller ones a job has many."""

_MANIFEST = "trace.json"
_STRINGS = "strings"


class BrokenCacheError(Exception):
    """A folder holds no trace of this version, or only a part of one."""


def save_trace(trace: Trace, folder: Path) -> None:
    """Write ``trace`` into an existing folder. The manifest is written last: without it the folder
    holds no trace.

    Raises:
        OSError: the folder cannot be written.
    """
    frames = {name: getattr(trace, name) for name in TABLE_NAMES}
    frames[_STRINGS] = pl.DataFrame({_STRINGS: pl.Series(trace.strings.tolist(), dtype=pl.String)})
    tables = {}
    for name, frame in frames.items():
        # A clone: polars locks the frame it writes, and a reader of it would block all threads.
        frame.clone().write_ipc_stream(_path(folder, name), compression="uncompressed")
        tables[name] = described(frame)
    side = {name: _save_side(table, folder) for name, table in trace.side.items()}
    manifest = {
        "schema_version": TRACE_SCHEMA_VERSION,
        "meta": msgspec.to_builtins(trace.meta),
        "quality": {"counts": trace.quality.counts, "examples": trace.quality.examples},
        "tables": tables,
        "side": side,
    }
    (folder / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def load_trace(folder: Path) -> Trace:
    """The trace that :func:`save_trace` wrote into ``folder``.

    Raises:
        BrokenCacheError: the folder holds no complete trace of this version.
    """
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        version = manifest["schema_version"]
        if version != TRACE_SCHEMA_VERSION:
            raise BrokenCacheError(f"{folder} has schema version {version}")
        frames: dict[str, Any] = {
            name: _load(folder, name, manifest["tables"][name]) for name in (*TABLE_NAMES, _STRINGS)
        }
        return Trace(
            meta=meta_from(manifest["meta"]),
            strings=frames.pop(_STRINGS)[_STRINGS].to_numpy().astype(np.object_),
            quality=_quality(**manifest["quality"]),
            side={
                name: _load_side(folder, name, entry) for name, entry in manifest["side"].items()
            },
            **frames,
        )
    except BrokenCacheError:
        raise
    except Exception as error:  # whatever is wrong with an entry, it can be created again
        raise BrokenCacheError(f"{folder} holds no complete trace: {error}") from error


def described(frame: pl.DataFrame) -> dict[str, Any]:
    """Rows, columns and types of a table, to be compared with what is loaded."""
    columns = [[name, str(dtype)] for name, dtype in frame.schema.items()]
    return {"rows": frame.height, "columns": columns}


def meta_from(values: dict[str, Any]) -> TraceMeta:
    """The metadata of a trace from its stored form.

    Raises:
        TypeError: a value is missing or unknown.
        msgspec.ValidationError: a value has another type, or is out of range.
    """
    if values.keys() != set(TraceMeta.__struct_fields__):
        raise TypeError("the metadata has other keys than were written")
    meta = msgspec.convert(values, set_up(TraceMeta))
    job = meta.info.job
    if job is None or job.groups is None:
        return meta
    groups = tuple(map(_shared, job.groups))
    return replace(meta, info=replace(meta.info, job=replace(job, groups=groups)))


def _shared(group: ProcessGroup) -> ProcessGroup:
    """A large group as the object that other ranks of the job have too: each of thousands may
    describe groups of all of them."""
    return _shared_large(group) if len(group.ranks or ()) >= LARGE_GROUP else group


@lru_cache(maxsize=256)
def _shared_large(group: ProcessGroup) -> ProcessGroup:
    return group


def counts_from(values: dict[str, Any]) -> dict[str, int]:
    """The counts of a quality report from their stored form.

    Raises:
        TypeError: they are something else.
    """
    if not all(type(count) is int for count in values.values()):
        raise TypeError("a count is not a number")
    return dict(values)


def _quality(counts: dict[str, Any], examples: dict[str, Any]) -> QualityReport:
    texts = {code: [str(text) for text in given] for code, given in examples.items()}
    return QualityReport(counts=counts_from(counts), examples=texts)


def _path(folder: Path, table: str) -> Path:
    return folder / f"{table}.arrow"


def _save_side(table: SideTable, folder: Path) -> dict[str, Any]:
    table.frame.clone().write_ipc_stream(_side_path(folder, table.name), compression="uncompressed")
    return {"source": table.source, **described(table.frame)}


def _load_side(folder: Path, name: str, description: dict[str, Any]) -> SideTable:
    if name not in SIDE_SCHEMAS:
        raise BrokenCacheError(f"{folder} has a side table {name!r}")
    source = str(description.pop("source"))
    frame = _checked(_side_path(folder, name), SIDE_SCHEMAS[name], description)
    return SideTable(name, source, frame)


def _side_path(folder: Path, name: str) -> Path:
    return _path(folder, f"side_{name}")


def _load(folder: Path, table: str, description: dict[str, Any]) -> pl.DataFrame:
    schema = {_STRINGS: pl.String} if table == _STRINGS else schema_of(table)
    return _checked(_path(folder, table), schema, description)


def _checked(path: Path, schema: Mapping[str, Any], description: dict[str, Any]) -> pl.DataFrame:
    frame = pl.read_ipc_stream(path)
    # Importers may order columns differently: equal dicts, but not equal schemas.
    if dict(frame.schema) != dict(schema) or described(frame) != description:
        raise BrokenCacheError(f"{path} has other columns or rows than were written")
    return frame
