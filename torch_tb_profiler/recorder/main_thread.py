"""Runs something in the main thread of the program, whatever that does at the moment."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

_kept: list[Any] = []
"""What the interpreter still has to call must not be collected."""


def ask(call: Callable[[], None]) -> bool:
    """Have ``call`` run between two instructions of the main thread, soon.

    It must not raise. False where the interpreter has no such queue, or it is full.
    """
    try:
        add = ctypes.pythonapi.Py_AddPendingCall
        kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    except AttributeError:
        return False

    def run(_argument: object) -> int:
        try:
            call()
        finally:
            _kept.remove(wrapped)
        return 0

    wrapped = kind(run)
    _kept.append(wrapped)
    add.argtypes = [kind, ctypes.c_void_p]
    add.restype = ctypes.c_int
    if add(wrapped, None) != 0:
        _kept.remove(wrapped)
        return False
    return True
