"""Reasons of null columns that several views give in the same words."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.recording.missing_reasons import (
    AnyCapability,
    missing_reason,
    recorded_reason,
    recorder,
)
from torch_tb_profiler.trace.model import Trace

__all__ = [
    "memory_alone",
    "missing_reason",
    "needed",
    "not_grouped",
    "recorded_or",
    "recorded_reason",
    "recorder",
]


def memory_alone(trace: Trace) -> str | None:
    """Why a view of what ran has nothing to show of a memory snapshot, whose user ranges say when
    memory changed; None for other recordings."""
    return recorded_reason(trace, "operators") if trace.meta.format == "snapshot" else None


def not_grouped(by: str, group_by: str) -> str:
    """Why a column is null that only another grouping fills."""
    return f"Rows are not grouped by {by}: use group_by={group_by}."


def recorded_or(trace: Trace, capability: AnyCapability, otherwise: str) -> str:
    """The reason that the recording gives for lacking something, then that of other nulls."""
    stated = recorded_reason(trace, capability)
    return otherwise if stated is None else f"{stated} Else: {otherwise}"


def needed(frame: pl.DataFrame, reasons: Mapping[str, str]) -> dict[str, str]:
    """The reasons of columns that do hold nulls."""
    return {key: text for key, text in reasons.items() if frame[key].null_count()}
