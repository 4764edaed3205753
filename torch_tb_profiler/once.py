"""What is made when it is first asked for, however many threads ask at once.

``functools.cache`` alone lets each of them make it. That is more than lost time: the first decoding
of a ``msgspec.Struct`` type sets the type up, and two threads in it at once crash the process.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """``make`` as a function that performs it at the first call and answers with the same object
    ever after.

    One thread makes it and the others wait. An exception is passed on and not kept: the next call
    tries again. What is made may need other such functions, but never in a circle.
    """
    lock = threading.RLock()
    value = functools.cache(make)

    @functools.wraps(make)
    def locked() -> T:
        with lock:
            return value()

    return functools.wraps(make)(functools.cache(locked))
