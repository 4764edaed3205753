"""Pauses between retries of something that fails: doubling, up to a maximum."""

from __future__ import annotations

FIRST_PAUSE_S = 1.0
"""A dropped connection is often back at once."""

MAX_PAUSE_S = 30.0
"""A store that recovers is noticed this soon, and one that is down is tried twice a minute."""


class Backoff:
    """Counts consecutive failures. Times are seconds of a monotonic clock.

    Attributes:
        since_s: Time of the first consecutive failure; None after a success.
        next_try_s: Earliest time of the next attempt; 0 after a success.
    """

    def __init__(self) -> None:
        self.since_s: float | None = None
        self.next_try_s = 0.0
        self._pause_s = FIRST_PAUSE_S

    def failed(self, now_s: float, began_s: float | None = None) -> None:
        """An attempt failed at ``now_s``; the time since ``began_s``, when it started, counts as
        pause."""
        began_s = now_s if began_s is None else began_s
        if self.since_s is None:
            self.since_s = began_s
        self.next_try_s = max(began_s + self._pause_s, now_s + FIRST_PAUSE_S)
        self._pause_s = min(2 * self._pause_s, MAX_PAUSE_S)

    def succeeded(self) -> None:
        """An attempt succeeded: the next failure is the first."""
        self.since_s = None
        self.next_try_s = 0.0
        self._pause_s = FIRST_PAUSE_S
