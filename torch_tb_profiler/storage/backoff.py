"""How long to leave alone what did not answer: ever longer, up to a ceiling."""

from __future__ import annotations

FIRST_PAUSE_S = 1.0
"""A dropped connection is often back at once."""

LONGEST_PAUSE_S = 30.0
"""A store that is back is noticed this soon, and one that is down is asked twice a minute."""


class Backoff:
    """Counts failures in a row of one thing. Times are seconds of a clock that never goes back.

    Attributes:
        since_s: When the first failure in a row was; None while there is none.
        next_try_s: When it may be tried again; 0 while nothing failed.
    """

    def __init__(self) -> None:
        self.since_s: float | None = None
        self.next_try_s = 0.0
        self._pause_s = FIRST_PAUSE_S

    def failed(self, now_s: float, began_s: float | None = None) -> None:
        """It failed just now, in a try that began a while ago, which counts as pause."""
        began_s = now_s if began_s is None else began_s
        if self.since_s is None:
            self.since_s = began_s
        self.next_try_s = max(began_s + self._pause_s, now_s + FIRST_PAUSE_S)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def succeeded(self) -> None:
        """It answered: the next failure is the first."""
        self.since_s = None
        self.next_try_s = 0.0
        self._pause_s = FIRST_PAUSE_S
