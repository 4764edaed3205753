"""The range that a program marks itself: ``torch.cuda.profiler.start()`` to ``stop()``.

Programs call them (or ``cudaProfilerStart`` of ``torch.cuda.cudart()``) for Nsight Systems'
``--capture-range=cudaProfilerApi`` and DLProf's ``--nsys_profile_range=true``.
"""

from __future__ import annotations

import functools
import os
import sys
from contextlib import suppress
from typing import Any, Protocol

MARK = "_torch_tb_profiler_range"
_FUNCTIONS = (
    ("torch.cuda.profiler", "start", "stop"),
    ("torch._C._cudart", "cudaProfilerStart", "cudaProfilerStop"),
)


class ProgramRangeListener(Protocol):
    """Receives the borders of ranges, in the thread that marks them."""

    def range_began(self) -> None:
        """A range begins; one may be open already."""

    def range_ended(self) -> None:
        """A range ends; there may be none."""


_listeners: list[ProgramRangeListener] = []

if hasattr(os, "register_at_fork"):  # forked children are not recorded
    os.register_at_fork(after_in_child=_listeners.clear)


def subscribe(listener: ProgramRangeListener) -> None:
    """Report the program's ranges to a listener; torch is imported. The calls themselves run
    as before, and fail as before without CUDA."""
    for module_name, start, stop in _FUNCTIONS:
        module = sys.modules.get(module_name) or _attribute(module_name)
        if module is not None:
            _wrap(module, start, "range_began")
            _wrap(module, stop, "range_ended")
    _listeners.append(listener)


def unsubscribe(listener: ProgramRangeListener) -> None:
    """Stop reporting to a listener."""
    if listener in _listeners:
        _listeners.remove(listener)


def _attribute(name: str) -> Any:
    """A module that is an attribute of its parent alone, as those in C are; None without it."""
    parent, _, last = name.rpartition(".")
    return getattr(sys.modules.get(parent), last, None)


def _wrap(module: Any, name: str, event: str) -> None:
    function = getattr(module, name, None)
    if function is None or hasattr(function, MARK):
        return

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        for each in tuple(_listeners):
            with suppress(Exception):  # the program comes first
                getattr(each, event)()
        return function(*args, **kwargs)

    setattr(wrapped, MARK, True)
    setattr(module, name, wrapped)
