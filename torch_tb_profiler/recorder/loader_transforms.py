"""The time that a dataset spends in its transforms, measured without changing it for good.

A transform is what a dataset, or one that it wraps, keeps as ``transform``, ``target_transform`` or
``transforms``. A function is replaced by a timed one while a batch is fetched. An object is left
in its place, since programs look at it: its class gets a timed ``__call__``, which times the
objects of datasets and no others.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder.clock import perf_ns

NAMES = ("transform", "target_transform", "transforms")
MAX_DATASETS = 32
"""So many wrapped datasets are looked at."""

_IS_HEAP_TYPE = 1 << 9
"""A flag of classes that are made in Python: only those can be given another ``__call__``."""

_timing: dict[int, TransformClock] = {}
"""Identity of a transform → who times it now."""

_timed_classes: dict[type, Any] = {}
"""Class → its own ``__call__`` before; None where it inherits one."""


class TransformClock:
    """Times the transforms of one dataset, a batch at a time, in one thread."""

    def __init__(self, dataset: Any) -> None:
        """Find the places of its transforms."""
        self._places = [
            (vars(each), name) for each in _datasets(dataset) for name in NAMES if _has(each, name)
        ]
        self._swapped: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._objects: list[int] = []
        self._functions: dict[int, tuple[Any, Any]] = {}
        self._thread = 0
        self._depth = 0
        self._calls = 0
        self._total_ns = 0

    def begin(self) -> None:
        """A batch is fetched from now on, in this thread."""
        if not self._places:
            return
        self._depth = self._calls = self._total_ns = 0
        self._thread = threading.get_ident()
        for place, name in self._places:
            found = place.get(name)
            if isinstance(found, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
                timed = self._timed_function(found)
                place[name] = timed
                self._swapped.append((place, name, timed, found))
            elif found is not None and _is_timed(type(found)):
                _timing[id(found)] = self
                self._objects.append(id(found))

    def end(self) -> int | None:
        """The batch is there: nanoseconds in transforms, None where none was called."""
        for place, name, timed, found in self._swapped:
            if place.get(name) is timed:
                place[name] = found
        for each in self._objects:
            _timing.pop(each, None)
        self._swapped.clear()
        self._objects.clear()
        return self._total_ns if self._calls else None

    def timed(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a transform; only the outermost one is timed."""
        if self._depth or threading.get_ident() != self._thread:
            return call(*args, **kwargs)
        self._depth = 1
        started_ns = perf_ns()
        try:
            return call(*args, **kwargs)
        finally:
            self._total_ns += perf_ns() - started_ns
            self._calls += 1
            self._depth = 0

    def _timed_function(self, function: Any) -> Any:
        known = self._functions.get(id(function))
        if known is not None and known[0] is function:
            return known[1]
        timed = functools.partial(self.timed, function)
        functools.update_wrapper(timed, function)
        if len(self._functions) < MAX_DATASETS:
            self._functions[id(function)] = (function, timed)
        return timed


def forget_classes() -> None:
    """The classes of transforms are as they were."""
    kind: Any
    for kind, own in _timed_classes.items():
        if own is None:
            if "__call__" in vars(kind):
                del kind.__call__
        else:
            kind.__call__ = own
    _timed_classes.clear()


def _datasets(dataset: Any) -> list[Any]:
    """A dataset and those that it wraps, each once."""
    found: list[Any] = []
    waiting = [dataset]
    while waiting and len(found) < MAX_DATASETS:
        each = waiting.pop(0)
        if each is None or any(each is one for one in found) or not hasattr(each, "__dict__"):
            continue
        found.append(each)
        inner = vars(each)
        waiting.append(inner.get("dataset"))
        several = inner.get("datasets")
        if isinstance(several, list | tuple):
            waiting.extend(several[:MAX_DATASETS])
    return found


def _has(dataset: Any, name: str) -> bool:
    return callable(vars(dataset).get(name, None))


def _is_timed(kind: Any) -> bool:
    """Whether objects of a class are timed, now at the latest."""
    if kind in _timed_classes:
        return True
    if not kind.__flags__ & _IS_HEAP_TYPE or kind.__module__.startswith("torch."):
        return False  # a class of torch is one of the model's too, and compiled code looks at it
    before = kind.__call__

    @functools.wraps(before)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        clock = _timing.get(id(self))
        if clock is None:
            return before(self, *args, **kwargs)
        return clock.timed(before, self, *args, **kwargs)

    own = vars(kind).get("__call__")
    try:
        kind.__call__ = call
    except (AttributeError, TypeError):
        return False
    _timed_classes[kind] = own
    return True
