"""One computation for identical requests that arrive while it is running.

Nothing is cached: a request that arrives after the answer is computed anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Generic, TypeVar

from torch_tb_profiler.server.gate import WaitingRoom

Answer = TypeVar("Answer")


class SharedAnswers(Generic[Answer]):
    """Answers that are being computed, by request.

    Args:
        room: Waiting room for requests that are being computed already.
    """

    def __init__(self, room: WaitingRoom) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[Answer]] = {}

    def answer(self, question: Hashable, compute: Callable[[], Answer]) -> Answer:
        """The result of ``compute``, called here or by the thread with the first equal request.

        Raises:
            BusyError: too many requests are waiting, or it takes too long.
        """
        with self._lock:
            others = self._under_way.get(question)
            if others is None:
                own = self._under_way[question] = Future()
        if others is not None:
            with self._room.seat():
                try:
                    return others.result(self._room.limit_s)
                except FutureTimeoutError:
                    raise self._room.busy() from None
        try:
            own.set_result(compute())
        except BaseException as error:
            own.set_exception(error)
        finally:
            with self._lock:
                del self._under_way[question]
        return own.result()
