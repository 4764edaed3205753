"""Errors of loggers and trackers, which may be any: a training ends as if there were none."""

from __future__ import annotations

from collections.abc import Callable

from torch_tb_profiler.reports.scalars.credentials import without_credentials


def problem_of(name: str, action: Callable[[], object]) -> str | None:
    """Do ``action``; why that failed, with the name of the logger, else None."""
    try:
        action()
    except Exception as error:
        return without_credentials(f"{name}: {type(error).__name__}: {error}")
    return None
