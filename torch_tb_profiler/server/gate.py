"""Limits the number of concurrent answers, and of requests that wait.

TensorBoard starts a thread for every request, without a limit. Here requests queue in order of
arrival; if the queue is full, or the wait too long, the client is told to retry.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from torch_tb_profiler.server.errors import BusyError


class WaitingRoom:
    """Seats for waiting requests.

    Args:
        seats: Number of seats.
        limit_s: Maximum waiting time.
        retry_after_s: Retry delay for requests that get no seat.
    """

    def __init__(self, seats: int, limit_s: float, retry_after_s: int) -> None:
        self.limit_s = limit_s
        self._retry_after_s = retry_after_s
        self._lock = threading.Lock()
        self._free = seats

    def busy(self) -> BusyError:
        """The error to raise if there is no seat or the time is up."""
        return BusyError(self._retry_after_s)

    @contextmanager
    def seat(self) -> Iterator[None]:
        """Occupy a seat while the block runs.

        Raises:
            BusyError: there is no free seat.
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
    """Admits a number of threads at once; the others wait in order of arrival.

    Args:
        slots: Number of threads at once.
        room: Waiting room for the others.
    """

    def __init__(self, slots: int, room: WaitingRoom) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._free = slots
        self._turns: deque[threading.Event] = deque()

    def enter(self) -> None:
        """Occupy a slot, waiting for it if needed; :meth:`leave` frees it.

        Raises:
            BusyError: there is no free seat for waiting, or the wait took too long.
        """
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
        with self._room.seat():
            self._wait()

    def leave(self) -> None:
        """Pass the slot to the thread that has waited longest, or free it."""
        with self._lock:
            if self._turns:
                self._turns.popleft().set()
            else:
                self._free += 1

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Occupy a slot while the block runs.

        Raises:
            BusyError: see :meth:`enter`.
        """
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def _wait(self) -> None:
        turn = threading.Event()
        with self._lock:
            if self._free > 0:  # freed in the meantime
                self._free -= 1
                return
            self._turns.append(turn)
        if turn.wait(self._room.limit_s):
            return
        with self._lock:
            if turn.is_set():  # at the last moment
                return
            self._turns.remove(turn)
        raise self._room.busy()
