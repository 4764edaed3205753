"""Time that a dataset spends in its transforms, measured without permanent changes.

A transform is the attribute ``transform``, ``target_transform`` or ``transforms`` of a dataset or
of a dataset that it wraps. A function is replaced by a timed one while a batch is fetched. An
object is left in place, because programs inspect it: its class gets a ``__call__`` that times the
objects which belong to datasets and no others.
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
"""Limit for following wrapped datasets."""

_IS_HEAP_TYPE = 1 << 9
"""Flag of classes defined in Python: only their ``__call__`` can be replaced."""

_timing: dict[int, TransformTimer] = {}
"""``id`` of a transform → the timer that currently measures it."""

_timed_classes: dict[type, Any] = {}
"""Class → its original ``__call__``; None if it inherits one."""


class TransformTimer:
    """Times the transforms of one dataset, one batch at a time, in one thread."""

    def __init__(self, dataset: Any) -> None:
        """Collect the attributes that hold transforms."""
        self._attributes = [
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
        """Start timing a batch that this thread fetches."""
        if not self._attributes:
            return
        self._depth = self._calls = self._total_ns = 0
        self._thread = threading.get_ident()
        for owner, name in self._attributes:
            transform = owner.get(name)
            if isinstance(
                transform, types.FunctionType | types.BuiltinFunctionType | types.MethodType
            ):
                timed = self._timed_function(transform)
                owner[name] = timed
                self._swapped.append((owner, name, timed, transform))
            elif transform is not None and _is_timed(type(transform)):
                _timing[id(transform)] = self
                self._objects.append(id(transform))

    def end(self) -> int | None:
        """Stop timing; nanoseconds spent in transforms, None if none was called."""
        for owner, name, timed, transform in self._swapped:
            if owner.get(name) is timed:
                owner[name] = transform
        for each in self._objects:
            _timing.pop(each, None)
        self._swapped.clear()
        self._objects.clear()
        return self._total_ns if self._calls else None

    def timed(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a transform; of nested calls only the outermost is timed."""
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


def restore_classes() -> None:
    """Restore the ``__call__`` of all timed classes."""
    kind: Any
    for kind, own in _timed_classes.items():
        if own is None:
            if "__call__" in vars(kind):
                del kind.__call__
        else:
            kind.__call__ = own
    _timed_classes.clear()


def _datasets(dataset: Any) -> list[Any]:
    """A dataset and the datasets it wraps, each once."""
    transform: list[Any] = []
    waiting = [dataset]
    while waiting and len(transform) < MAX_DATASETS:
        each = waiting.pop(0)
        if each is None or any(each is one for one in transform) or not hasattr(each, "__dict__"):
            continue
        transform.append(each)
        inner = vars(each)
        waiting.append(inner.get("dataset"))
        several = inner.get("datasets")
        if isinstance(several, list | tuple):
            waiting.extend(several[:MAX_DATASETS])
    return transform


def _has(dataset: Any, name: str) -> bool:
    return callable(vars(dataset).get(name, None))


def _is_timed(kind: Any) -> bool:
    """Install a timed ``__call__`` on a class if possible; whether its objects are timed."""
    if kind in _timed_classes:
        return True
    if not kind.__flags__ & _IS_HEAP_TYPE or kind.__module__.startswith("torch."):
        return False  # torch's classes are used in models too, where compiled code depends on them
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
