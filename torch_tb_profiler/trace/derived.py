"""Values that are computed from a trace once and cached with it: one typed handle per value.

A function of a trace becomes a handle with :func:`per_trace`; calling it returns the cached value,
or computes it::

    @per_trace
    def kernel_kinds(trace: Trace) -> KernelKinds: ...

Values are cached in the trace (:class:`DerivedValues`), so they count in its memory and are freed
with it. A recording may be split into other steps (``analysis/steps/iterations``): values that
depend on its steps are declared with :func:`per_split`, one per split; all others belong to the
recording and are shared by its splits.
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
    """A handle: one value per trace, computed on first use.

    A thread that needs a value that another thread computes waits for it: two computations at once
    might exceed the memory. The computation may use other handles, but not in a circle. A value may
    be dropped (:meth:`DerivedValues.drop`) when memory is short; it is then computed again.
    """

    def __init__(self, compute: Callable[[Trace], T], *, depends_on_steps: bool = False) -> None:
        self.compute = compute
        self.depends_on_steps = depends_on_steps
        update_wrapper(self, compute)

    def __call__(self, trace: Trace) -> T:
        """The value of ``trace``."""
        return trace.derived.value(self, trace)

    def provide(self, trace: Trace, value: T) -> None:
        """Set the value of ``trace``: data that cannot be computed from its tables and is never
        dropped."""
        trace.derived.provide(self, value)

    def is_computed(self, trace: Trace) -> bool:
        """Whether the value of ``trace`` is cached."""
        return trace.derived.has(self)


def per_trace(compute: Callable[[Trace], T]) -> PerTrace[T]:
    """Decorator: turn ``compute`` into the handle of a value that is cached with each trace."""
    return PerTrace(compute)


def per_split(compute: Callable[[Trace], T]) -> PerTrace[T]:
    """Decorator: as :func:`per_trace`, for a value that depends on the steps of the trace
    (``trace.steps``, ``trace.slices["step"]``)."""
    return PerTrace(compute, depends_on_steps=True)


class DerivedValues:
    """The values of one trace, by handle: provided ones and computed ones.

    Args:
        recording: Holds the values that do not depend on steps; None: this object.
    """

    __slots__ = ("_computed", "_locks", "_provided", "_recording")

    def __init__(self, recording: DerivedValues | None = None) -> None:
        self._computed: dict[PerTrace[Any], Any] = {}
        self._provided: dict[PerTrace[Any], Any] = {}
        self._locks: dict[PerTrace[Any], threading.RLock] = {}
        self._recording = recording

    def for_split(self) -> DerivedValues:
        """Values of the same recording, split into other steps."""
        return DerivedValues(self._recording or self)

    def _owner(self, handle: PerTrace[Any]) -> DerivedValues:
        return self if handle.depends_on_steps or self._recording is None else self._recording

    @property
    def provided(self) -> list[Any]:
        """The values that cannot be computed again."""
        return list(self._provided.values())

    @property
    def computed(self) -> list[Any]:
        """The values that can be computed again."""
        return list(self._computed.copy().values())

    @property
    def count(self) -> int:
        """How many values can be computed again."""
        return len(self._computed)

    def value(self, handle: PerTrace[T], trace: Trace) -> T:
        """The value of ``handle``, computed from ``trace`` by its first caller."""
        owner = self._owner(handle)
        if owner is not self:
            return owner.value(handle, trace)
        value: T = self._lookup(handle)
        if value is _ABSENT:
            with self._locks.setdefault(handle, threading.RLock()):
                value = self._lookup(handle)
                if value is _ABSENT:
                    value = self._computed[handle] = handle.compute(trace)
        return value

    def has(self, handle: PerTrace[Any]) -> bool:
        """Whether there is a value of ``handle``."""
        return self._owner(handle)._lookup(handle) is not _ABSENT

    def provide(self, handle: PerTrace[T], value: T) -> None:
        """Store a value that cannot be computed again."""
        self._owner(handle)._provided[handle] = value

    def drop(self) -> None:
        """Drop the computed values. Current users of a value keep their reference."""
        self._computed.clear()

    def _lookup(self, handle: PerTrace[Any]) -> Any:
        value = self._provided.get(handle, _ABSENT)
        return self._computed.get(handle, _ABSENT) if value is _ABSENT else value
