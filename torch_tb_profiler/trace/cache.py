"""A trace in a folder: one uncompressed Arrow stream per table, and a manifest in JSON.

Uncompressed, because reopening is what the cache is for; a stream and not a file, because polars
cuts files into batches and views want whole columns. Who may write where, locking and clean-up are
the cache folder's business, not this module's.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.trace.model import Trace, TraceMeta
from torch_tb_profiler.trace.quality import QualityReport

TRACE_SCHEMA_VERSION = 4
"""Raise with every change of the tables, of their meaning, or of how the builder fills them."""

_MANIFEST = "trace.json"
_STRINGS = "strings"
_TABLES = tuple(field.name for field in fields(Trace) if field.type == "pl.DataFrame")


class BrokenCacheError(Exception):
    """A folder holds no trace of this version, or only a part of one."""


def save_trace(trace: Trace, folder: Path) -> None:
    """Write ``trace`` into an existing folder. The manifest comes last: without it the folder
    holds no trace.

    Raises:
        OSError: the folder cannot be written.
    """
    frames = {name: getattr(trace, name) for name in _TABLES}
    frames[_STRINGS] = pl.DataFrame({_STRINGS: pl.Series(trace.strings.tolist(), dtype=pl.String)})
    sizes = {}
    for name, frame in frames.items():
        path = _path(folder, name)
        frame.write_ipc_stream(path, compression="uncompressed")
        sizes[name] = path.stat().st_size
    manifest = {
        "schema_version": TRACE_SCHEMA_VERSION,
        "meta": asdict(trace.meta),
        "quality": {"counts": trace.quality.counts, "examples": trace.quality.examples},
        "sizes": sizes,
    }
    (folder / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def load_trace(folder: Path) -> Trace:
    """The trace that :func:`save_trace` wrote into ``folder``.

    Raises:
        BrokenCacheError: the folder holds no whole trace of this version.
    """
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        version = manifest["schema_version"]
        if version != TRACE_SCHEMA_VERSION:
            raise BrokenCacheError(f"{folder} has schema version {version}")
        frames: dict[str, Any] = {
            name: _load(folder, name, size) for name, size in manifest["sizes"].items()
        }
        return Trace(
            meta=TraceMeta(**manifest["meta"]),
            strings=frames.pop(_STRINGS)[_STRINGS].to_numpy().astype(np.object_),
            quality=QualityReport(**manifest["quality"]),
            **frames,
        )
    except (OSError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
        raise BrokenCacheError(f"{folder} holds no whole trace: {error}") from error


def _path(folder: Path, table: str) -> Path:
    return folder / f"{table}.arrow"


def _load(folder: Path, table: str, size_bytes: int) -> pl.DataFrame:
    path = _path(folder, table)
    if path.stat().st_size != size_bytes:
        raise BrokenCacheError(f"{path} was cut or changed")
    return pl.read_ipc_stream(path)
