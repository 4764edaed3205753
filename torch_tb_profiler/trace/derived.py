"""What is computed from a trace once and kept with it: one typed handle per value.

A function of a trace alone becomes a handle with :func:`per_trace`; calling it answers what was
kept, or computes it::

    @per_trace
    def kernel_kinds(trace: Trace) -> KernelKinds: ...

Values are kept in the trace (:class:`DerivedValues`), so they count in its memory and go with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from torch_tb_profiler.trace.model import Trace

T = TypeVar("T")

_ABSENT: Any = object()


class PerTrace(Generic[T]):
    """A value of every trace: the handle by which it is asked for, given and kept.

    A thread that needs what another one computes waits for it: two at a time could be more than
    memory holds. Computing may need other values of the trace, but never in a circle. A value may
    be dropped (:meth:`DerivedValues.drop`) when memory is short, and is computed again then.
    """

    def __init__(self, compute: Callable[[Trace], T]) -> None:
        self.compute = compute
        update_wrapper(self, compute)

    def __call__(self, trace: Trace) -> T:
        """The value of ``trace``."""
        return trace.derived.value(self, trace)

    def give(self, trace: Trace, value: T) -> None:
        """Let ``value`` be that of ``trace``: a part of it that its tables do not tell, and that
        is never dropped."""
        trace.derived.give(self, value)

    def is_kept(self, trace: Trace) -> bool:
        """Whether the value of ``trace`` is there already."""
        return trace.derived.keeps(self)


def per_trace(compute: Callable[[Trace], T]) -> PerTrace[T]:
    """Decorator: ``compute`` as the handle of a value that is kept with each trace."""
    return PerTrace(compute)


class DerivedValues:
    """What one trace keeps, by handle: values that were given, and values that were computed."""

    __slots__ = ("_computed", "_given", "_locks")

    def __init__(self) -> None:
        self._computed: dict[PerTrace[Any], Any] = {}
        self._given: dict[PerTrace[Any], Any] = {}
        self._locks: dict[PerTrace[Any], threading.RLock] = {}

    @property
    def given(self) -> list[Any]:
        """The values that cannot be computed again."""
        return list(self._given.values())

    @property
    def computed(self) -> list[Any]:
        """The values that can be computed again."""
        return list(self._computed.copy().values())

    @property
    def count(self) -> int:
        """How many values are kept that can be computed again."""
        return len(self._computed)

    def value(self, handle: PerTrace[T], trace: Trace) -> T:
        """The value of ``handle``, computed from ``trace`` by the first who asks."""
        value: T = self._kept(handle)
        if value is _ABSENT:
            with self._locks.setdefault(handle, threading.RLock()):
                value = self._kept(handle)
                if value is _ABSENT:
                    value = self._computed[handle] = handle.compute(trace)
        return value

    def keeps(self, handle: PerTrace[Any]) -> bool:
        """Whether there is a value of ``handle``."""
        return self._kept(handle) is not _ABSENT

    def give(self, handle: PerTrace[T], value: T) -> None:
        """Keep a value that cannot be computed again."""
        self._given[handle] = value

    def drop(self) -> None:
        """Forget what can be computed again. Whoever uses a value at the moment has it still."""
        self._computed.clear()

    def _kept(self, handle: PerTrace[Any]) -> Any:
        value = self._given.get(handle, _ABSENT)
        return self._computed.get(handle, _ABSENT) if value is _ABSENT else value
