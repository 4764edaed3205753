"""Notices a profiler that the program uses itself, and what it exports: that one is kept.

The program's profiler is never disturbed: ours stops before it starts, and does not start while it
runs. What it exports is copied into the folder of the run.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

MARK = "_torch_tb_profiler_own"


class OwnListener(Protocol):
    """Who is told of the program's profiler, in the thread that it is used in."""

    def own_made(self) -> None:
        """The program has made a ``torch.profiler.profile``."""

    def own_starts(self) -> None:
        """A profiler of the program is about to start."""

    def own_records(self) -> None:
        """It has warmed up, and keeps what happens from now on."""

    def own_stops(self) -> None:
        """It is about to stop."""

    def own_stopped(self) -> None:
        """It has stopped."""

    def own_exported(self, path: str) -> None:
        """It has written a trace."""


class _State(threading.local):
    is_ours = False
    is_exporting = False


_state = _State()
_listeners: list[OwnListener] = []


if hasattr(os, "register_at_fork"):  # what a child does is its own business
    os.register_at_fork(after_in_child=_listeners.clear)


@contextmanager
def ours() -> Iterator[None]:
    """What this thread does with profilers now is our own doing."""
    before, _state.is_ours = _state.is_ours, True
    try:
        yield
    finally:
        _state.is_ours = before


def listen(listener: OwnListener) -> None:
    """Tell somebody of the program's profilers from now on; torch is imported.

    Raises:
        ImportError, AttributeError: this torch has no such profiler.
    """
    from torch.autograd.profiler import profile as autograd_profile  # noqa: PLC0415
    from torch.profiler import profile  # noqa: PLC0415

    kineto_profile = next(each for each in profile.__mro__ if "export_chrome_trace" in vars(each))
    _wrap(kineto_profile, "__init__", after=lambda *_: _tell("own_made"))
    _wrap(kineto_profile, "export_chrome_trace", around=_exported)
    _wrap(autograd_profile, "export_chrome_trace", around=_exported)
    _wrap(autograd_profile, "_prepare_trace", before=lambda *_: _tell("own_starts"))
    _wrap(autograd_profile, "_start_trace", before=lambda *_: _tell("own_records"))
    _wrap(
        autograd_profile,
        "__exit__",
        before=lambda *_: _tell("own_stops"),
        after=lambda *_: _tell("own_stopped"),
    )
    _listeners.append(listener)


def listen_no_more(listener: OwnListener) -> None:
    """Tell it no more."""
    if listener in _listeners:
        _listeners.remove(listener)


def _tell(what: str, *args: object) -> None:
    for each in tuple(_listeners):
        try:
            getattr(each, what)(*args)
        except Exception:  # noqa: PERF203 - the program comes first
            listen_no_more(each)


def _exported(call: Callable[[], Any], path: Any) -> Any:
    """Tell of an export once, though the one method calls the other."""
    if _state.is_exporting:
        return call()
    _state.is_exporting = True
    try:
        result = call()
    finally:
        _state.is_exporting = False
    if isinstance(path, str):
        _tell("own_exported", path)
    return result


def _wrap(
    owner: Any,
    name: str,
    before: Callable[..., None] | None = None,
    after: Callable[..., None] | None = None,
    around: Callable[[Callable[[], Any], Any], Any] | None = None,
) -> None:
    """Have something done beside a method, unless the call is ours or nobody listens."""
    method = getattr(owner, name, None)
    if method is None or getattr(method, MARK, False):
        return

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if _state.is_ours or not _listeners:
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
