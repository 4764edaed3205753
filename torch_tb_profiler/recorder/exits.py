"""Ends the recording of a process however that ends, as far as it hears of it.

Nothing of the program's own end changes: handlers of the program stay, a signal that would have
killed it still does, and what takes too long is broken off.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import util
from types import FrameType
from typing import Any

from torch_tb_profiler.recorder import main_thread
from torch_tb_profiler.recorder import session as sessions
from torch_tb_profiler.recorder.options import Options

SIGNALS = ("SIGTERM", "SIGHUP")
PATIENCE_S = 20.0
"""So long an end by a signal, or by ``os._exit``, may take: those who kill wait for 30 s."""

LOADER = "_worker_loop"
HELPERS = ("multiprocessing", "concurrent")
"""What a process runs that loads data, and the modules of those that wait for small work."""


class _Anchor:
    """What ``multiprocessing`` knows a callback of a child by."""

    def __init__(self, options: Options) -> None:
        self.options = options


_anchor: _Anchor | None = None
_runs_function = False
"""Whether this process was forked to run one function of the program."""


def install(options: Options) -> None:
    """Hear of the end of this process, and of forked ones that are worth a recording; once."""
    global _anchor  # noqa: PLW0603 - a process ends once
    if _anchor is not None:
        return
    _anchor = _Anchor(options)
    atexit.register(_at_exit)
    os._exit = _after_end(os._exit, _reason_of_exit)
    for name in ("execv", "execve"):
        setattr(os, name, _after_end(getattr(os, name), _reason_of_exec))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)
        util.register_after_fork(_anchor, _in_process)
    if threading.current_thread() is threading.main_thread():
        _hear_signals()
    else:
        main_thread.ask(_hear_signals)


def _at_exit() -> None:
    with suppress(BaseException):  # an interrupt, too: what is written is readable
        sessions.end(_reason())


def _reason() -> str:
    """How the program ended: by an exception that nobody caught, or well."""
    kind = None if hasattr(sys, "ps1") else getattr(sys, "last_type", None)
    return "exit" if kind is None else f"exception {kind.__name__}"


def _after_end(call: Callable[..., Any], reason_of: Callable[..., str | None]) -> Any:
    """A call that ends the process, with the end of the recording before it."""

    @functools.wraps(call)
    def ending(*args: Any, **kwargs: Any) -> Any:
        with suppress(BaseException):  # the call is what was asked for
            reason = None if sessions.current() is None else reason_of(*args, **kwargs)
            if reason is not None:
                _end_in_time(reason, lambda: call(*args, **kwargs))
        return call(*args, **kwargs)

    return ending


def _reason_of_exit(code: int) -> str:
    """A forked process that has run its function ends so, too."""
    return "exit" if code == 0 and _runs_function else "os._exit"


def _reason_of_exec(path: Any, *_args: Any, **_kwargs: Any) -> str | None:
    """``os.execvp`` tries one folder after the other: only a call that will work is an end."""
    return "os.exec" if os.path.isfile(path) and os.access(path, os.X_OK) else None


def _hear_signals() -> None:
    """Handle signals that would kill the program; what it handles, or ignores, is its own."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(OSError, ValueError):
                signal.signal(number, _killed)


def _killed(number: int, _frame: FrameType | None) -> None:
    if signal.getsignal(number) is not _killed:  # a later handler of the program calls the earlier
        return
    signal.signal(number, signal.SIG_DFL)
    with suppress(BaseException):
        if sessions.current() is not None:
            die = functools.partial(os.kill, os.getpid(), number)
            _end_in_time(f"signal {signal.Signals(number).name}", die)
    os.kill(os.getpid(), number)


def _end_in_time(reason: str, last: Callable[[], Any]) -> None:
    """End the recording; where that hangs, as in a program that does, go on with ``last``."""
    timer = threading.Timer(PATIENCE_S, last)
    timer.daemon = True
    timer.start()
    try:
        sessions.end(reason)
    finally:
        timer.cancel()


def _in_process(anchor: _Anchor) -> None:
    """A process that was forked to run a function of the program may train: it is recorded."""
    global _runs_function  # noqa: PLW0603 - a process is what it is
    target = getattr(multiprocessing.current_process(), "_target", None)
    module = str(getattr(target, "__module__", None)).partition(".")[0]
    if module not in HELPERS and getattr(target, "__name__", None) != LOADER:
        _runs_function = True
        sessions.begin(anchor.options)


def _in_child() -> None:
    """A forked child is killed by signals as it would be without us."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _killed:
            signal.signal(number, signal.SIG_DFL)
