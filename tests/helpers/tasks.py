"""What tests let worker processes do."""

from __future__ import annotations

import os
import threading
import time


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
