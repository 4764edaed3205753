"""Starts a window when somebody asks: by a signal, or by making or touching a file."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch_tb_profiler.recorder import main_thread


class Trigger:
    """Waits for a signal of that name, or for a file of that path.

    Attributes:
        problem: Why it cannot wait, if so.
    """

    def __init__(self, what: str, fire: Callable[[], None]) -> None:
        self._fire = fire
        self._signal = _signal_named(what)
        self._path = os.path.abspath(what)
        self._seen_ns: int | None = None
        self._chained: Any = None
        self._is_stopped = False
        self._is_hearing = False
        self.problem: str | None = None

    def start(self) -> None:
        """Wait from now on."""
        if self._signal is None:
            self._seen_ns = _changed_ns(self._path)
        elif threading.current_thread() is threading.main_thread():
            self._install()
        elif not main_thread.ask(self._install):
            self.problem = "A signal can be heard in the main thread only."

    def poll(self) -> None:
        """Look for the file; in any thread."""
        if self._signal is not None:
            if self._is_replaced():
                main_thread.ask(self._install)
            return
        seen_ns = _changed_ns(self._path)
        if seen_ns != self._seen_ns:
            self._seen_ns = seen_ns
            if seen_ns is not None:
                self._fire()

    def stop(self) -> None:
        """Wait no more; the program's own handler is put back where that is possible."""
        self._is_stopped = True
        is_main = threading.current_thread() is threading.main_thread()
        if self._signal is not None and is_main and not self._is_replaced():
            signal.signal(self._signal, self._chained or signal.SIG_DFL)

    def _install(self) -> None:
        """Handle the signal, and have the program's own handler called after."""
        try:
            if self._signal is not None and not self._is_stopped and self._is_replaced():
                self._chained = signal.signal(self._signal, self._heard)
        except (OSError, ValueError) as error:
            self.problem = f"The signal cannot be heard: {error}."

    def _is_replaced(self) -> bool:
        """Whether the program has set a handler of its own since."""
        return self._signal is not None and signal.getsignal(self._signal) != self._heard

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self._is_hearing:  # the program's handler calls the one that it found: ours
            return
        self._fire()
        if callable(self._chained):
            self._is_hearing = True
            try:
                self._chained(number, frame)
            finally:
                self._is_hearing = False


def _signal_named(what: str) -> signal.Signals | None:
    name = what.upper() if what.upper().startswith("SIG") else f"SIG{what.upper()}"
    return signal.Signals.__members__.get(name)


def _changed_ns(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
