"""What an export says of itself: versions, settings and where time 0 lies. Of its tables of
settings, which hold the environment, users and hosts, only the keys named here are looked at."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.info import TraceInfo

EXPORT_TABLES = ("META_DATA_EXPORT", "EXPORT_META_DATA")
CAPTURE = "META_DATA_CAPTURE"
START = "TARGET_INFO_SESSION_START_TIME"

PRODUCT, SCHEMA = "EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION"
GRAPH_MODE = "CUDA_GRAPH_TRACE_OPTIONS:MODE"

RECORDER = "Nsight Systems"
"""Its name in ``knowledge/recorders.toml``."""

LATEST_NS = 2**62
"""Since 1970: the year 2116."""

_VERSION = re.compile(r"[0-9][0-9A-Za-z.\-]{0,39}")


def recorder_version(export: Export) -> str | None:
    """Its version, and that of the layout of the export."""
    told = _values(export, EXPORT_TABLES, (PRODUCT, SCHEMA))
    versions = {key: text for key, text in told.items() if _VERSION.fullmatch(text)}
    words = []
    if PRODUCT in versions:
        words.append(versions[PRODUCT])
    if SCHEMA in versions:
        words.append(f"schema {versions[SCHEMA]}")
    return ", ".join(words) or None


def records_graphs_whole(export: Export) -> bool:
    """Whether CUDA graphs were recorded as a whole, without their kernels."""
    mode = _values(export, (CAPTURE,), (GRAPH_MODE,)).get(GRAPH_MODE, "")
    return mode.strip().lower() == "graph"


def base_ns(export: Export, start_ns: Int64) -> int:
    """Nanoseconds since 1970 of time 0; 0 where that is not told, and where the times count from
    there already (``nsys export --ts-normalize=true``).

    Args:
        export: The export.
        start_ns: When its events begin.
    """
    if START not in export.database.tables:
        return 0
    for (epoch,) in export.database.rows(START, ("utcEpochNs",)):
        if isinstance(epoch, int) and 0 < epoch < LATEST_NS:
            some = start_ns[:: 1 + len(start_ns) // 1000]
            return 0 if len(some) and np.median(some) > epoch / 2 else epoch
    return 0


def trace_info(export: Export) -> TraceInfo:
    """What is known of the recording beside its events."""
    return TraceInfo(
        recorder=RECORDER,
        recorder_version=recorder_version(export),
        devices=export.devices.declared(),
        not_recorded=export.not_recorded(),
    )


def _values(export: Export, tables: tuple[str, ...], keys: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for table in tables:
        if table in export.database.tables:
            for key, value in export.database.rows(table, ("name", "value")):
                if key in keys and isinstance(value, str):
                    found.setdefault(key, value)
    return found
