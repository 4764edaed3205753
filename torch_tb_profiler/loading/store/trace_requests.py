"""Requests for traces, in the order in which they were first made.

An answer may need the traces of many workers at once, and pages repeat a request until it is
answered. So the traces of one request belong together, and older requests come first: none waits
for ever while others push out its traces.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from torch_tb_profiler.loading.store.entries import Key

ABANDONED_S = 15.0
"""A request that was not repeated for so long is abandoned: pages repeat it every second, and a
page in the background once in a while."""

ALWAYS_SERVED = 2
"""Requests for one trace, or a pair, are served however much memory that takes."""


class TraceRequest(Struct, eq=False):
    """Traces that are needed together.

    Attributes:
        keys: The traces, the most important first.
        requested_s: When it was last made.
        unopened: Index of the first trace that may not have been started yet.
        left_out: Traces for which there is no memory next to the others.
    """

    keys: tuple[Key, ...]
    requested_s: float = 0.0
    unopened: int = 0
    left_out: set[Key] = field(default_factory=set)

    @property
    def is_small(self) -> bool:
        """Whether it is served in any case."""
        return len(self.keys) <= ALWAYS_SERVED


class TraceRequests:
    """The requests without an answer yet."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[Key, ...], TraceRequest] = {}

    def register(self, keys: Sequence[Key]) -> TraceRequest:
        """The request for ``keys``: a new one, or the same one repeated."""
        own = tuple(keys)
        trace_request = self._waiting.setdefault(own, TraceRequest(own))
        trace_request.requested_s = time.monotonic()
        return trace_request

    @property
    def oldest(self) -> TraceRequest | None:
        """The request with precedence over all others."""
        return next(iter(self), None)

    def reset_unopened(self) -> None:
        """An entry that was started is queued again."""
        for trace_request in self._waiting.values():
            trace_request.unopened = 0

    def complete(self, trace_request: TraceRequest) -> None:
        """The request is answered: its traces may be closed."""
        self._waiting.pop(trace_request.keys, None)

    def clear(self) -> None:
        """Drop all requests."""
        self._waiting.clear()

    def __iter__(self) -> Iterator[TraceRequest]:
        """The requests that are not abandoned, the oldest first."""
        oldest_s = time.monotonic() - ABANDONED_S
        for trace_request in [
            each for each in self._waiting.values() if each.requested_s < oldest_s
        ]:
            self.complete(trace_request)
        return iter(list(self._waiting.values()))

    def ranks(self) -> dict[Key, int]:
        """Needed trace → rank of the oldest request that needs it."""
        ranks: dict[Key, int] = {}
        for rank, trace_request in enumerate(self):
            for key in trace_request.keys:
                if key not in trace_request.left_out:
                    ranks.setdefault(key, rank)
        return ranks
