"""Values that are computed on first use, by one thread only.

``functools.cache`` alone lets concurrent threads compute a value twice. That wastes time, and it is
unsafe: the first decoding of a ``msgspec.Struct`` type sets the type up, and two threads in it at
once crash the process.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def once(compute: Callable[[], T]) -> Callable[[], T]:
    """``compute`` as a function that runs at the first call and returns the same object ever after.

    One thread computes it and the others wait. An exception is raised and not cached: the next call
    tries again. The computation may use other such functions, but not in a circle.
    """
    lock = threading.RLock()
    value = functools.cache(compute)

    @functools.wraps(compute)
    def locked() -> T:
        with lock:
            return value()

    return functools.wraps(compute)(functools.cache(locked))
