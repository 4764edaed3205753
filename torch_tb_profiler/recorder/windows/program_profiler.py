"""Detects profilers that the program runs itself, and the traces they export.

The program's profiler is never disturbed: the recorder's stops before it starts, and does not start
while it is running. Its exported traces are copied into the folder of the run.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

MARK = "_torch_tb_profiler_own"


class ProgramProfilerListener(Protocol):
    """Receives events of the program's profiler, in the thread that uses it."""

    def profiler_created(self) -> None:
        """The program has created a ``torch.profiler.profile``."""

    def profiler_starting(self) -> None:
        """A profiler of the program is about to start."""

    def profiler_recording(self) -> None:
        """It has warmed up and starts to record."""

    def profiler_stopping(self) -> None:
        """It is about to stop."""

    def profiler_stopped(self) -> None:
        """It has stopped."""

    def trace_exported(self, path: str) -> None:
        """It has exported a trace."""


class _State(threading.local):
    is_recorder = False
    is_exporting = False


_state = _State()
_listeners: list[ProgramProfilerListener] = []


if hasattr(os, "register_at_fork"):  # forked children are not recorded
    os.register_at_fork(after_in_child=_listeners.clear)


@contextmanager
def recorder_calls() -> Iterator[None]:
    """Mark profiler calls of this thread as the recorder's while the block runs."""
    before, _state.is_recorder = _state.is_recorder, True
    try:
        yield
    finally:
        _state.is_recorder = before


def subscribe(listener: ProgramProfilerListener) -> None:
    """Report the program's profilers to a listener from now on; torch is imported.

    Raises:
        ImportError, AttributeError: this version of torch has no such profiler.
    """
    from torch.autograd.profiler import profile as autograd_profile  # noqa: PLC0415
    from torch.profiler import profile  # noqa: PLC0415

    kineto_profile = next(each for each in profile.__mro__ if "export_chrome_trace" in vars(each))
    _wrap(kineto_profile, "__init__", after=lambda *_: _notify("profiler_created"))
    _wrap(kineto_profile, "export_chrome_trace", around=_notify_export)
    _wrap(autograd_profile, "export_chrome_trace", around=_notify_export)
    _wrap(autograd_profile, "_prepare_trace", before=lambda *_: _notify("profiler_starting"))
    _wrap(autograd_profile, "_start_trace", before=lambda *_: _notify("profiler_recording"))
    _wrap(
        autograd_profile,
        "__exit__",
        before=lambda *_: _notify("profiler_stopping"),
        after=lambda *_: _notify("profiler_stopped"),
    )
    _listeners.append(listener)


def unsubscribe(listener: ProgramProfilerListener) -> None:
    """Stop reporting to a listener."""
    if listener in _listeners:
        _listeners.remove(listener)


def _notify(event: str, *args: object) -> None:
    for each in tuple(_listeners):
        try:
            getattr(each, event)(*args)
        except Exception:  # noqa: PERF203 - the program comes first
            unsubscribe(each)


def _notify_export(call: Callable[[], Any], path: Any) -> Any:
    """Report an export once, although one wrapped method calls the other."""
    if _state.is_exporting:
        return call()
    _state.is_exporting = True
    try:
        result = call()
    finally:
        _state.is_exporting = False
    if isinstance(path, str):
        _notify("trace_exported", path)
    return result


def _wrap(
    owner: Any,
    name: str,
    before: Callable[..., None] | None = None,
    after: Callable[..., None] | None = None,
    around: Callable[[Callable[[], Any], Any], Any] | None = None,
) -> None:
    """Wrap a method with callbacks, which are skipped for calls of the recorder and without
    listeners."""
    method = getattr(owner, name, None)
    if method is None or getattr(method, MARK, False):
        return

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if _state.is_recorder or not _listeners:
            return method(*args, **kwargs)
        if around is not None:
            path = kwargs.get("path", args[1] if len(args) > 1 else None)
            return around(lambda: method(*args, **kwargs), path)
        if before is not None:
            before()
        result = method(*args, **kwargs)
        if after is not None:
            after()
        return result

    setattr(wrapped, MARK, True)
    setattr(owner, name, wrapped)
