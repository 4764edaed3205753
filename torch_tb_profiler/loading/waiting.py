"""For faces that wait: an answer when its traces are parsed, with their progress on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.requests.runs import SpanStatus

POLL_S = 0.1
"""Time between two reports of progress; the answer itself comes without delay."""

T = TypeVar("T")


def when_ready(ask: Callable[[float], T], progress: Callable[[SpanStatus], object]) -> T:
    """What ``ask`` answers, however long its traces take to be parsed.

    Args:
        ask: Called with how long it may wait, in seconds; raises NotReadyError when that was
            not enough, and is called again.
        progress: Told how far the parsing is, about ten times a second.
    """
    while True:
        answered = _once(ask, progress)
        if answered is not None:
            return answered[0]


def _once(ask: Callable[[float], T], progress: Callable[[SpanStatus], object]) -> tuple[T] | None:
    try:
        return (ask(POLL_S),)
    except NotReadyError as pending:
        progress(pending.status)
        return None
