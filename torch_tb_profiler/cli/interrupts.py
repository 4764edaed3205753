"""Ctrl-C ends the command at once, whatever its threads are waiting for.

After ``main`` Python waits for all threads of a pool: a thread that reads from a store which does
not respond would keep the process alive until its timeout. Files that must survive a sudden end are
written under a temporary name and renamed.
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
"""Time for the command to clean up: temporary folders, sockets, worker processes."""


class Interrupts:
    """Handles Ctrl-C in the process of a command."""

    def __init__(self) -> None:
        self._code: int | None = None
        self._was_interrupted = False

    def install(self) -> None:
        """End the process soon after an interrupt; only possible in the main thread.

        A process started with interrupts ignored, as by shells in the background, continues to
        ignore them.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if sys.platform == "win32" or not is_main:
            return
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        # Python's own handler runs in the main thread, which may be blocked.
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._interrupt)
        watch = threading.Thread(target=self._watch, args=(reader,), name="interrupts", daemon=True)
        # Only the main thread receives signals: ``record`` blocks those meant for the program.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        watch.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def interrupt_system_calls(self) -> None:
        """Let an interrupt end system calls of the main thread again: loading polars makes the
        system restart them."""
        if hasattr(signal, "siginterrupt"):
            signal.siginterrupt(signal.SIGINT, True)

    def mark_done(self, code: int) -> None:
        """The command is done with this exit code; there is nothing left to unwind. An interrupt
        that ended the command itself (a server) keeps the code."""
        self._code = code

    def _watch(self, reader: int) -> None:
        while os.read(reader, 1)[0] != signal.SIGINT:
            pass
        if self._code is None:
            time.sleep(GRACE_S)
        os._exit(self._code if self._was_interrupted and self._code is not None else INTERRUPTED)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Called in the main thread: end the command. Only once: a second interrupt would abort the
        cleanup with a traceback, and the process ends soon anyway."""
        if self._was_interrupted or self._code is not None:
            return
        self._was_interrupted = True
        signal.default_int_handler(number, frame)


def kill_self(number: int) -> None:
    """End this process by the signal that ended the recorded program, so that a shell loop ends
    too; without a second core dump. May return: not every signal kills.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        signal.signal(number, signal.SIG_DFL)
    with suppress(OSError, ValueError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
