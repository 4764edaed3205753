"""Starts a window on request: by a signal, or by creating or touching a file."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch_tb_profiler.recorder import main_thread


class Trigger:
    """Waits for a signal of a name, or for changes of a file.

    Attributes:
        problem: Why it cannot wait; None if it can.
    """

    def __init__(self, what: str, fire: Callable[[], None]) -> None:
        self._fire = fire
        self._signal = _signal_named(what)
        self._path = os.path.abspath(what)
        self._seen_ns: int | None = None
        self._chained: Any = None
        self._is_stopped = False
        self._is_handling = False
        self.problem: str | None = None

    def start(self) -> None:
        """Start waiting."""
        if self._signal is None:
            self._seen_ns = _changed_ns(self._path)
        elif threading.current_thread() is threading.main_thread():
            self._install()
        elif not main_thread.call_soon(self._install):
            self.problem = "Signals can only be handled in the main thread."

    def poll(self) -> None:
        """Check the file; may be called in any thread."""
        if self._signal is not None:
            if self._is_replaced():
                main_thread.call_soon(self._install)
            return
        seen_ns = _changed_ns(self._path)
        if seen_ns != self._seen_ns:
            self._seen_ns = seen_ns
            if seen_ns is not None:
                self._fire()

    def stop(self) -> None:
        """Stop waiting; the program's own signal handler is restored if possible."""
        self._is_stopped = True
        is_main = threading.current_thread() is threading.main_thread()
        if self._signal is not None and is_main and not self._is_replaced():
            signal.signal(self._signal, self._chained or signal.SIG_DFL)

    def _install(self) -> None:
        """Handle the signal; the program's own handler is called afterwards."""
        try:
            if self._signal is not None and not self._is_stopped and self._is_replaced():
                self._chained = signal.signal(self._signal, self._on_signal)
        except (OSError, ValueError) as error:
            self.problem = f"The signal cannot be handled: {error}."

    def _is_replaced(self) -> bool:
        """Whether the program has set its own handler since."""
        return self._signal is not None and signal.getsignal(self._signal) != self._on_signal

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._is_handling:  # the program's handler calls the previous one, which is this
            return
        self._fire()
        if callable(self._chained):
            self._is_handling = True
            try:
                self._chained(number, frame)
            finally:
                self._is_handling = False


def _signal_named(what: str) -> signal.Signals | None:
    name = what.upper() if what.upper().startswith("SIG") else f"SIG{what.upper()}"
    return signal.Signals.__members__.get(name)


def _changed_ns(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
