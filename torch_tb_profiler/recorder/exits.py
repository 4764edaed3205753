"""Ends the recording of a process when the process ends: normally, by ``os._exit``, ``exec`` or a
signal.

The way the program ends is unchanged: its own handlers stay, a signal that would kill it still
kills it, and ending the recording is abandoned after a time limit.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import util
from types import FrameType
from typing import Any

from torch_tb_profiler.recorder import main_thread
from torch_tb_profiler.recorder import session as sessions
from torch_tb_profiler.recorder.options import Options

SIGNALS = ("SIGTERM", "SIGHUP")
MAX_END_S = 20.0
"""Time limit for ending the recording after a signal or in ``os._exit``: schedulers commonly send
SIGKILL after 30 s."""

LOADER_FUNCTION = "_worker_loop"
HELPER_MODULES = ("multiprocessing", "concurrent")
"""Target function of loader workers, and modules of pool workers; neither is recorded."""


class _Anchor:
    """The object ``multiprocessing.util.register_after_fork`` ties its callback to."""

    def __init__(self, options: Options) -> None:
        self.options = options


_anchor: _Anchor | None = None
_runs_function = False
"""Whether this process was forked to run one function of the program."""


def install(options: Options) -> None:
    """Hook the end of this process, and forks whose child should be recorded; only once."""
    global _anchor  # noqa: PLW0603 - a process ends once
    if _anchor is not None:
        return
    _anchor = _Anchor(options)
    atexit.register(_at_exit)
    os._exit = _after_end(os._exit, _reason_of_exit)
    for name in ("execv", "execve"):
        setattr(os, name, _after_end(getattr(os, name), _reason_of_exec))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
        util.register_after_fork(_anchor, _after_fork_for_function)
    if threading.current_thread() is threading.main_thread():
        _install_signal_handlers()
    else:
        main_thread.call_soon(_install_signal_handlers)


def _at_exit() -> None:
    # Also on an interrupt: the files written so far are readable.
    with suppress(BaseException), _one_interrupt_ignored():
        sessions.end(_reason())


@contextmanager
def _one_interrupt_ignored() -> Iterator[None]:
    """After an interrupt, ignore the next one: of a process group (``timeout -s INT``) it reaches
    the program twice, directly and through the launcher."""
    number = signal.SIGINT
    is_interrupted = issubclass(getattr(sys, "last_type", None) or object, KeyboardInterrupt)
    is_ours = is_interrupted and signal.getsignal(number) is signal.default_int_handler
    if is_ours:
        signal.signal(number, lambda *_: signal.signal(number, signal.default_int_handler))
    try:
        yield
    finally:
        if is_ours:
            signal.signal(number, signal.default_int_handler)


def _reason() -> str:
    """How the program ended: normally, or by an uncaught exception."""
    kind = None if hasattr(sys, "ps1") else getattr(sys, "last_type", None)
    return "exit" if kind is None else f"exception {kind.__name__}"


def _after_end(call: Callable[..., Any], reason_of: Callable[..., str | None]) -> Any:
    """Wrap a call that ends the process so that the recording ends first."""

    @functools.wraps(call)
    def ending(*args: Any, **kwargs: Any) -> Any:
        with suppress(BaseException):  # the call itself must happen in any case
            reason = None if sessions.current() is None else reason_of(*args, **kwargs)
            if reason is not None:
                _end_in_time(reason, lambda: call(*args, **kwargs))
        return call(*args, **kwargs)

    return ending


def _reason_of_exit(code: int) -> str:
    """Forked ``multiprocessing`` children end with ``os._exit`` normally."""
    return "exit" if code == 0 and _runs_function else "os._exit"


def _reason_of_exec(path: Any, *_args: Any, **_kwargs: Any) -> str | None:
    """``os.execvp`` tries one folder after another: only a call that will succeed is an end."""
    return "os.exec" if os.path.isfile(path) and os.access(path, os.X_OK) else None


def _install_signal_handlers() -> None:
    """Handle the signals that would kill the program; those it handles or ignores are left
    alone."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(OSError, ValueError):
                signal.signal(number, _on_signal)


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if signal.getsignal(number) is not _on_signal:  # chained from a handler the program set later
        return
    signal.signal(number, signal.SIG_DFL)
    with suppress(BaseException):
        if sessions.current() is not None:
            die = functools.partial(os.kill, os.getpid(), number)
            _end_in_time(f"signal {signal.Signals(number).name}", die)
    os.kill(os.getpid(), number)


def _end_in_time(reason: str, last: Callable[[], Any]) -> None:
    """End the recording; if that hangs longer than the limit, call ``last``."""
    timer = threading.Timer(MAX_END_S, last)
    timer.daemon = True
    timer.start()
    try:
        sessions.end(reason)
    finally:
        timer.cancel()


def _after_fork_for_function(anchor: _Anchor) -> None:
    """Record a process forked to run a function of the program: it may train."""
    global _runs_function  # noqa: PLW0603 - a process is what it is
    target = getattr(multiprocessing.current_process(), "_target", None)
    module = str(getattr(target, "__module__", None)).partition(".")[0]
    if module not in HELPER_MODULES and getattr(target, "__name__", None) != LOADER_FUNCTION:
        _runs_function = True
        sessions.begin(anchor.options)


def _after_fork() -> None:
    """Restore the default signal handlers in a forked child."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _on_signal:
            signal.signal(number, signal.SIG_DFL)
