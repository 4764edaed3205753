"""What tests let worker processes do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path


def squared(number: int) -> int:
    return number * number


def process_id() -> int:
    return os.getpid()


def failing(text: str) -> None:
    raise ValueError(text)


def slept(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def waited_for(path: Path) -> int:
    """Says that it has begun, waits until ``path`` is there, and tells its process."""
    path.with_name(f"{path.name}.begun").touch()
    while not path.exists():
        time.sleep(0.005)
    return os.getpid()


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
