"""Starts the program to record, forwards signals to it and waits for its end.

The program inherits terminal, open files, working folder and process group. Its environment has two
additional variables: the options, and a ``PYTHONPATH`` entry whose ``sitecustomize`` starts the
recording.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from torch_tb_profiler.recorder import notes
from torch_tb_profiler.recorder.options import BOOTSTRAP, VARIABLE, Options

EXIT_NO_COMMAND, EXIT_NOT_EXECUTABLE = 127, 126
"""Exit codes of shells for a command that does not exist, and one that cannot be executed."""

FORWARDED_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
SENT_BY_KERNEL = 0x80
"""``si_code`` of a signal sent by the terminal, which the program receives too."""

POLL_S = 1.0
"""Interval for polling the program when no SIGCHLD arrives."""


@dataclass(frozen=True)
class ProgramExit:
    """How the program ended.

    Attributes:
        code: Exit code, or the negative number of the signal that killed it.
        pid: Process id; None if unknown.
    """

    code: int
    pid: int | None = None

    @property
    def reason(self) -> str | None:
        """The signal that killed it, by name; None if it exited by itself."""
        if self.code >= 0:
            return None
        try:
            return f"signal {signal.Signals(-self.code).name}"
        except ValueError:
            return f"signal {-self.code}"


class CannotStartError(Exception):
    """The program cannot be started.

    Attributes:
        code: The exit code to report.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def environment(options: Options | None, notes_path: str, own: Mapping[str, str]) -> dict[str, str]:
    """The environment of the program.

    Args:
        options: What to record; None: nothing.
        notes_path: File to which its processes append notes.
        own: Environment of this process.
    """
    if options is None:
        return dict(own)
    paths = [BOOTSTRAP, own["PYTHONPATH"]] if own.get("PYTHONPATH") else [BOOTSTRAP]
    given = {
        VARIABLE: notes.with_notes_path(options.to_json(), notes_path),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    return {**own, **given}


def run(command: Sequence[str], variables: Mapping[str, str]) -> ProgramExit:
    """Run a program to its end.

    Raises:
        CannotStartError: it does not exist or cannot be executed.
    """
    try:
        if not hasattr(os, "posix_spawnp"):
            return ProgramExit(subprocess.call(list(command), env=dict(variables)))
        return _spawn(command, variables)
    except FileNotFoundError as error:
        if os.path.exists(command[0]) and os.path.dirname(command[0]):
            text = f"{command[0]}: the interpreter that its first line names was not found"
            raise CannotStartError(EXIT_NOT_EXECUTABLE, text) from error
        raise CannotStartError(EXIT_NO_COMMAND, f"{command[0]}: command not found") from error
    except OSError as error:
        text = f"{command[0]}: cannot be run: {error.strerror}"
        raise CannotStartError(EXIT_NOT_EXECUTABLE, text) from error


def _spawn(command: Sequence[str], variables: Mapping[str, str]) -> ProgramExit:
    numbers = {
        number
        for name in FORWARDED_SIGNALS
        if (number := getattr(signal, name, None)) is not None
        and signal.getsignal(number) is not signal.SIG_IGN
    }
    with _block_signals({*numbers, signal.SIGCHLD}) as before:
        # Python ignores these two signals; the program gets the shell's default back.
        own = [number for name in ("SIGPIPE", "SIGXFSZ") if (number := getattr(signal, name, None))]
        pid = os.posix_spawnp(
            command[0], list(command), dict(variables), setsigmask=before, setsigdef=own
        )
        return ProgramExit(_wait(pid, {*numbers, signal.SIGCHLD}), pid)


@contextmanager
def _block_signals(numbers: set[signal.Signals]) -> Iterator[set[int]]:
    """Block signals in this thread while the block runs; yields the previous mask."""
    child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield {int(number) for number in before}
    finally:
        # Discard signals meant for the program that has ended: ignoring a signal for a moment
        # clears it. sigwait could block for ever if another thread takes the signal first.
        for number in signal.sigpending() & numbers:
            signal.signal(number, signal.signal(number, signal.SIG_IGN) or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if child is not None:
            signal.signal(signal.SIGCHLD, child)


def _wait(pid: int, numbers: set[signal.Signals]) -> int:
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        number, program_has_it = _next_signal(numbers)
        if number is not None and number != signal.SIGCHLD and not program_has_it:
            with suppress(OSError):
                os.kill(pid, number)


def _next_signal(numbers: set[signal.Signals]) -> tuple[int | None, bool]:
    """The next signal, and whether the program received it too (from the terminal)."""
    if hasattr(signal, "sigtimedwait"):
        received = signal.sigtimedwait(numbers, POLL_S)
        return (
            (None, False)
            if received is None
            else (received.si_signo, received.si_code == SENT_BY_KERNEL)
        )
    number = signal.sigwait(numbers)  # macOS does not report the sender
    return number, number in (signal.SIGINT, signal.SIGQUIT) and sys.stdin.isatty()
