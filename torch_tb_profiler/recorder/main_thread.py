"""Runs a function in the main thread of the program, whatever that is doing at the moment."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

_pending: list[Any] = []
"""Keeps callbacks alive until the interpreter has called them."""


def call_soon(call: Callable[[], None]) -> bool:
    """Run ``call`` soon, between two bytecode instructions of the main thread.

    It must not raise.

    Returns:
        False if the interpreter has no queue for pending calls, or the queue is full.
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
            _pending.remove(wrapped)
        return 0

    wrapped = kind(run)
    _pending.append(wrapped)
    add.argtypes = [kind, ctypes.c_void_p]
    add.restype = ctypes.c_int
    if add(wrapped, None) != 0:
        _pending.remove(wrapped)
        return False
    return True


def is_importing(package: str) -> bool:
    """Whether this thread is importing a module of ``package``: others that need it cannot be
    imported until that is done."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        name = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_name == "<module>" and name.partition(".")[0] == package:
            return True
    return False
