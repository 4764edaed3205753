"""Reasons of null columns that several views give in the same words."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.trace.model import Trace

NO_DEVICE_WORK = "The recording holds no device work (CPU-only, or the device was not profiled)."
NO_LAUNCHES = "The file links none of its device events to the host: no launch of one is in it."


def no_device_time(trace: Trace) -> str | None:
    """Why nothing of the host has device time that is known; None when some may have."""
    work = trace.device_work
    if work.is_empty():
        return NO_DEVICE_WORK
    is_linked = work["launch"].is_not_null().any() or work["owner"].is_not_null().any()
    return None if is_linked else NO_LAUNCHES


def not_grouped(by: str, group_by: str) -> str:
    """Why a column is null that only another grouping fills."""
    return f"Not grouped by {by}: choose group_by={group_by}."


def needed(frame: pl.DataFrame, reasons: Mapping[str, str]) -> dict[str, str]:
    """The reasons of columns that do hold nulls."""
    return {key: text for key, text in reasons.items() if frame[key].null_count()}
