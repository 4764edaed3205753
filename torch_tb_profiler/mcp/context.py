"""What tools answer from: the recordings, the cache, and the call that waits for the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.storage.cache_folder import CacheFolder

WAIT_S = 50.0
"""How long a call waits for recordings to be read: clients give up after 60 s by default."""

T = TypeVar("T")


def _ignore(_status: SpanStatus) -> None:
    """Nobody asked for progress."""


def _never() -> bool:
    """Somebody waits for the answer."""
    return False


class ToolContext(Struct, frozen=True):
    """The recordings and one call.

    Attributes:
        catalog: The recordings inside the log directories.
        cache: Where tables that are too large for an answer are written; None for nowhere.
        progress: Receives how far recordings are read while the call waits for them.
        is_cancelled: Whether nobody waits for the answer any more.
        wait_s: How long the call waits for recordings to be read.
    """

    catalog: Catalog
    cache: CacheFolder | None = None
    progress: Callable[[SpanStatus], object] = _ignore
    is_cancelled: Callable[[], bool] = _never
    wait_s: float = WAIT_S

    def when_ready(self, ask: Callable[[float], T]) -> T:
        """The result of ``ask``, once its recordings are read.

        Args:
            ask: As of :func:`torch_tb_profiler.loading.status.when_ready`.

        Raises:
            RequestError: it takes longer than ``wait_s``, or nobody waits any more.
        """
        end_s = time.monotonic() + self.wait_s

        def attempt(wait_s: float) -> T:
            if self.is_cancelled():
                raise RequestError("cancelled", "The call was cancelled.")
            return ask(wait_s)

        def report(status: SpanStatus) -> None:
            self.progress(status)
            if time.monotonic() > end_s:
                raise _still_reading(status, self.wait_s)

        return when_ready(attempt, report)


def status_text(status: SpanStatus) -> str:
    """How far a recording is read, in a sentence."""
    name = visible(status.file)[:80] or "the log directory"
    if status.state == "queued":
        return f"{name} waits to be read"
    left = "" if status.eta_s is None else f", about {status.eta_s:.0f} s left"
    return f"Reading {name}: {status.progress * 100:.0f} %{left}"


def _still_reading(status: SpanStatus, waited_s: float) -> RequestError:
    return RequestError(
        "still_reading",
        f"{status_text(status)} after {waited_s:.0f} s.",
        "Reading goes on: call again with the same arguments.",
    )
