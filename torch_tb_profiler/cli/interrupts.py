"""Ctrl-C ends the command at once, whatever its threads wait for.

Python itself waits, after ``main`` is left, for every thread of a pool: one that reads from a store
which does not answer would hold the process for as long as the store is given. What must not be
lost by an end at any moment is written elsewhere and renamed into place.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

from torch_tb_profiler.cli.exits import INTERRUPTED

GRACE_S = 0.7
"""So long the command may close what it has open: temporary folders, sockets, worker processes."""


class Interrupts:
    """What Ctrl-C does to the process of a command."""

    def __init__(self) -> None:
        self._code: int | None = None
        self._was_interrupted = False

    def install(self) -> None:
        """End the process soon after an interrupt; only the main thread can ask for that.

        A process that was started with interrupts ignored, as shells do in the background, goes on
        to ignore them.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if sys.platform == "win32" or not is_main:
            return
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        # Python's own handler waits for the main thread, which may wait for something else.
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._interrupt)
        watch = threading.Thread(target=self._watch, args=(reader,), name="interrupts", daemon=True)
        # The main thread gets every signal: ``record`` holds those back that are the program's.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        watch.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def wake_waits(self) -> None:
        """Let an interrupt end a wait of the main thread again: polars, once loaded, has the system
        go on with the wait."""
        if hasattr(signal, "siginterrupt"):
            signal.siginterrupt(signal.SIGINT, True)

    def leaving(self, code: int) -> None:
        """The command is done, with this exit code: from here on there is nothing that an interrupt
        could unwind. One that ended the command itself, as it ends a server, keeps the code."""
        self._code = code

    def _watch(self, reader: int) -> None:
        while os.read(reader, 1)[0] != signal.SIGINT:
            pass
        if self._code is None:
            time.sleep(GRACE_S)
        os._exit(self._code if self._was_interrupted and self._code is not None else INTERRUPTED)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """In the main thread: end what the command does. Once: a second one would break off the
        unwinding, or what Python does last, and leave a traceback; the process ends soon anyway."""
        if self._was_interrupted or self._code is not None:
            return
        self._was_interrupted = True
        signal.default_int_handler(number, frame)


def die_by(number: int) -> None:
    """Let a signal end this process as it ended the program that was run, so that a shell's loop
    ends with both; without a second file of the memory. It may come back: not every signal kills.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        signal.signal(number, signal.SIG_DFL)
    with suppress(OSError, ValueError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
