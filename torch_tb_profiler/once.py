"""What one thread does at the first use while the others wait: values, and types to decode.

``functools.cache`` alone lets concurrent threads compute a value twice, which wastes time. Types
are worse: the first decoding of a ``msgspec.Struct`` sets the type up, and two threads in it at
once crash the process.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")

_SETTING_UP = threading.Lock()
_READY: set[object] = set()


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


def set_up(kind: type[T]) -> type[T]:
    """A type that any thread may decode or convert to: its ``Struct`` types are set up.

    For every function that passes a type to msgspec (``tests/test_once.py`` checks that). A decoder
    of a module is set up while it is imported, which one thread does.
    """
    if kind not in _READY:
        with _SETTING_UP:
            msgspec.json.Decoder(kind)
        _READY.add(kind)
    return kind
