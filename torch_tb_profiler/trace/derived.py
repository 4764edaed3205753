"""What is computed from a trace once and kept with it: one typed handle per value.

A function of a trace alone becomes a handle with :func:`per_trace`; calling it answers what was
kept, or computes it::

    @per_trace
    def kernel_kinds(trace: Trace) -> KernelKinds: ...

Values are kept in the trace (:class:`DerivedValues`), so they count in its memory and go with it.
A recording may be split into other steps (``analysis/steps/iterations``): values that depend on
its steps are declared with :func:`per_cut`, one per split; all others belong to the recording and
are shared.
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

    def __init__(self, compute: Callable[[Trace], T], *, depends_on_steps: bool = False) -> None:
        self.compute = compute
        self.depends_on_steps = depends_on_steps
        update_wrapper(self, compute)

    def __call__(self, trace: Trace) -> T:
        """The value of ``trace``."""
        return trace.derived.value(self, trace)

    def provide(self, trace: Trace, value: T) -> None:
        """Let ``value`` be that of ``trace``: a part of it that its tables do not tell, and that
        is never dropped."""
        trace.derived.provide(self, value)

    def is_computed(self, trace: Trace) -> bool:
        """Whether the value of ``trace`` is there already."""
        return trace.derived.keeps(self)


def per_trace(compute: Callable[[Trace], T]) -> PerTrace[T]:
    """Decorator: ``compute`` as the handle of a value that is kept with each trace."""
    return PerTrace(compute)


def per_split(compute: Callable[[Trace], T]) -> PerTrace[T]:
    """Decorator: as :func:`per_trace`, of a value that depends on the steps of the trace
    (``trace.steps``, ``trace.slices["step"]``)."""
    return PerTrace(compute, depends_on_steps=True)


class DerivedValues:
    """What one trace keeps, by handle: values that were given, and values that were computed.

    Args:
        recording: Where values are kept that do not depend on steps; None: here.
    """

    __slots__ = ("_computed", "_given", "_locks", "_recording")

    def __init__(self, recording: DerivedValues | None = None) -> None:
        self._computed: dict[PerTrace[Any], Any] = {}
        self._given: dict[PerTrace[Any], Any] = {}
        self._locks: dict[PerTrace[Any], threading.RLock] = {}
        self._recording = recording

    def for_split(self) -> DerivedValues:
        """A place for the values of the same recording, cut into other steps."""
        return DerivedValues(self._recording or self)

    def _place(self, handle: PerTrace[Any]) -> DerivedValues:
        return self if handle.depends_on_steps or self._recording is None else self._recording

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
        place = self._place(handle)
        if place is not self:
            return place.value(handle, trace)
        value: T = self._kept(handle)
        if value is _ABSENT:
            with self._locks.setdefault(handle, threading.RLock()):
                value = self._kept(handle)
                if value is _ABSENT:
                    value = self._computed[handle] = handle.compute(trace)
        return value

    def keeps(self, handle: PerTrace[Any]) -> bool:
        """Whether there is a value of ``handle``."""
        return self._place(handle)._kept(handle) is not _ABSENT

    def provide(self, handle: PerTrace[T], value: T) -> None:
        """Keep a value that cannot be computed again."""
        self._place(handle)._given[handle] = value

    def drop(self) -> None:
        """Forget what can be computed again. Whoever uses a value at the moment has it still."""
        self._computed.clear()

    def _kept(self, handle: PerTrace[Any]) -> Any:
        value = self._given.get(handle, _ABSENT)
        return self._computed.get(handle, _ABSENT) if value is _ABSENT else value
