"""A bounded number of answers at once, and a bounded number of requests that wait their turn.

TensorBoard gives every request a thread, however many come. Here they queue, first come first
served; who finds the queue full, or waits too long, is told to come back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from torch_tb_profiler.server.errors import BusyError


class WaitingRoom:
    """Seats for requests that wait for anything.

    Args:
        seats: How many.
        limit_s: How long one may be taken.
        retry_after_s: What those are told who get none.
    """

    def __init__(self, seats: int, limit_s: float, retry_after_s: int) -> None:
        self.limit_s = limit_s
        self._retry_after_s = retry_after_s
        self._lock = threading.Lock()
        self._free = seats

    def busy(self) -> BusyError:
        """What to raise when there is no seat, or the time is up."""
        return BusyError(self._retry_after_s)

    @contextmanager
    def seat(self) -> Iterator[None]:
        """A seat while the block runs.

        Raises:
            BusyError: all are taken.
        """
        with self._lock:
            if self._free == 0:
                raise self.busy()
            self._free -= 1
        try:
            yield
        finally:
            with self._lock:
                self._free += 1


class Gate:
    """Lets a number of threads through at once; the others wait in the order in which they came.

    Args:
        places: How many at once.
        room: Where the others wait.
    """

    def __init__(self, places: int, room: WaitingRoom) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._free = places
        self._turns: deque[threading.Event] = deque()

    def enter(self) -> None:
        """Take a place, after waiting for it; :meth:`leave` gives it back.

        Raises:
            BusyError: nobody else may wait, or the wait took too long.
        """
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
        with self._room.seat():
            self._wait()

    def leave(self) -> None:
        """Give a place to whoever waited longest, or back."""
        with self._lock:
            if self._turns:
                self._turns.popleft().set()
            else:
                self._free += 1

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place while the block runs.

        Raises:
            BusyError: as :meth:`enter`.
        """
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def _wait(self) -> None:
        turn = threading.Event()
        with self._lock:
            if self._free > 0:  # given back since
                self._free -= 1
                return
            self._turns.append(turn)
        if turn.wait(self._room.limit_s):
            return
        with self._lock:
            if turn.is_set():  # in the last moment
                return
            self._turns.remove(turn)
        raise self._room.busy()
