"""What tests let worker processes do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable


def squared(number: int) -> int:
    return number * number


def process_id() -> int:
    return os.getpid()


def failing(text: str) -> None:
    raise ValueError(text)


def slept(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def killed_by(number: int) -> None:
    os.kill(os.getpid(), number)


def unpicklable() -> object:
    return threading.Lock()


def thread_name() -> str:
    return threading.current_thread().name


class NamesItsThread:
    """Becomes, where it is unpickled, the name of the thread that does so."""

    def __reduce__(self) -> tuple[Callable[[], str], tuple[()]]:
        return thread_name, ()
