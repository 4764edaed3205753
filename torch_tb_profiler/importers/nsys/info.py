"""Metadata of an export: versions, settings, time origin and diagnostics.

The tables of settings also hold the environment, users and hosts: only the keys named here are
read. Diagnostics are counted only: their texts contain paths and command lines.
"""

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
"""Latest valid time since 1970: the year 2116."""

DIAGNOSTICS = "DIAGNOSTIC_EVENT"
WARNING, ERROR = 2, 3

CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "nsys_events_dropped",
        re.compile(
            r"dropped|(?:were|was|events|data|records) lost|lost (?:\d+ )?(?:events|records)"
            r"|buffers? (?:was|were|is) (?:full|exhausted)|out of (?:trace )?buffers?"
            r"|not all .* (?:events|data) (?:might|may|were|was)",
            re.IGNORECASE,
        ),
    ),
)
"""(quality code, pattern of the texts of warnings with this cause)."""

SEVERITIES = {WARNING: "nsys_warnings", ERROR: "nsys_errors"}

_VERSION = re.compile(r"[0-9][0-9A-Za-z.\-]{0,39}")


def recorder_version(export: Export) -> str | None:
    """Version of Nsight Systems and of the export's schema."""
    values = _values(export, EXPORT_TABLES, (PRODUCT, SCHEMA))
    versions = {key: text for key, text in values.items() if _VERSION.fullmatch(text)}
    labels = []
    if PRODUCT in versions:
        labels.append(versions[PRODUCT])
    if SCHEMA in versions:
        labels.append(f"schema {versions[SCHEMA]}")
    return ", ".join(labels) or None


def records_graphs_whole(export: Export) -> bool:
    """Whether CUDA graphs were recorded as a whole, without their kernels."""
    mode = _values(export, (CAPTURE,), (GRAPH_MODE,)).get(GRAPH_MODE, "")
    return mode.strip().lower() == "graph"


def base_ns(export: Export, start_ns: Int64) -> int:
    """Time 0 in nanoseconds since 1970; 0 if unknown, or if the times already count from 1970
    (``nsys export --ts-normalize=true``).

    Args:
        export: The export.
        start_ns: Starts of its events.
    """
    if START not in export.database.tables:
        return 0
    for (epoch,) in export.database.rows(START, ("utcEpochNs",)):
        if isinstance(epoch, int) and 0 < epoch < LATEST_NS:
            sample = start_ns[:: 1 + len(start_ns) // 1000]
            return 0 if len(sample) and np.median(sample) > epoch / 2 else epoch
    return 0


def trace_info(export: Export) -> TraceInfo:
    """What is known about the recording apart from its events."""
    return TraceInfo(
        recorder=RECORDER,
        recorder_version=recorder_version(export),
        devices=export.devices.device_infos(),
        not_recorded=export.not_recorded(),
    )


def _values(export: Export, tables: tuple[str, ...], keys: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for table in tables:
        if table in export.database.tables:
            for key, value in export.database.rows(table, ("name", "value")):
                if key in keys and isinstance(value, str):
                    values.setdefault(key, value)
    return values


def count_diagnostics(export: Export) -> None:
    """Count warnings and errors; those with a known cause under its code."""
    if DIAGNOSTICS not in export.database.tables:
        return
    for severity, text in export.database.rows(DIAGNOSTICS, ("severity", "text")):
        if severity not in SEVERITIES:
            continue
        message = text if isinstance(text, str) else ""
        code = next((code for code, cause in CAUSES if cause.search(message)), SEVERITIES[severity])
        export.quality.add(code)
