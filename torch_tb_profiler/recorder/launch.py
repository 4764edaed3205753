"""Starts a program that is recorded, waits for it, and hands signals on; the rest is the program's.

It gets the terminal, the files, the folder and the process group of whoever started us, and of the
environment two variables more: the options, and where Python finds what begins the recording.
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
from torch_tb_profiler.recorder.options import VARIABLE, Options

BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""As shells say it."""

PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
BY_THE_KERNEL = 0x80
"""``si_code`` of a signal that the terminal sent, to the program as well."""

LOOK_S = 1.0
"""How often the program is looked for where no signal told of its end."""


@dataclass(frozen=True)
class Ended:
    """How the program ended.

    Attributes:
        code: Its exit code, or minus the number of the signal that killed it.
        pid: Its process.
    """

    code: int
    pid: int | None = None

    @property
    def reason(self) -> str | None:
        """The signal by name; None where it ended by itself."""
        if self.code >= 0:
            return None
        try:
            return f"signal {signal.Signals(-self.code).name}"
        except ValueError:
            return f"signal {-self.code}"


class CannotStartError(Exception):
    """The program cannot be started.

    Attributes:
        code: The exit code that says so.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def environment(options: Options | None, notes_path: str, own: Mapping[str, str]) -> dict[str, str]:
    """The environment of the program.

    Args:
        options: What to record; None: nothing.
        notes_path: Where its processes leave notes.
        own: Our environment.
    """
    if options is None:
        return dict(own)
    paths = [BOOTSTRAP, own["PYTHONPATH"]] if own.get("PYTHONPATH") else [BOOTSTRAP]
    given = {
        VARIABLE: notes.with_place(options.to_json(), notes_path),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    return {**own, **given}


def run(command: Sequence[str], variables: Mapping[str, str]) -> Ended:
    """Run a program to its end.

    Raises:
        CannotStartError: there is no such program, or it is none.
    """
    try:
        if not hasattr(os, "posix_spawnp"):
            return Ended(subprocess.call(list(command), env=dict(variables)))
        return _spawned(command, variables)
    except FileNotFoundError as error:
        if os.path.exists(command[0]) and os.path.dirname(command[0]):
            text = f"{command[0]}: the interpreter that its first line names was not found"
            raise CannotStartError(NOT_EXECUTABLE, text) from error
        raise CannotStartError(NOT_FOUND, f"{command[0]}: command not found") from error
    except OSError as error:
        text = f"{command[0]}: cannot be run: {error.strerror}"
        raise CannotStartError(NOT_EXECUTABLE, text) from error


def _spawned(command: Sequence[str], variables: Mapping[str, str]) -> Ended:
    numbers = {
        number
        for name in PASSED_ON
        if (number := getattr(signal, name, None)) is not None
        and signal.getsignal(number) is not signal.SIG_IGN
    }
    with _blocked({*numbers, signal.SIGCHLD}) as before:
        # Python ignores these two for itself; a program finds them as the shell has them.
        own = [number for name in ("SIGPIPE", "SIGXFSZ") if (number := getattr(signal, name, None))]
        pid = os.posix_spawnp(
            command[0], list(command), dict(variables), setsigmask=before, setsigdef=own
        )
        return Ended(_waited(pid, {*numbers, signal.SIGCHLD}), pid)


@contextmanager
def _blocked(numbers: set[signal.Signals]) -> Iterator[set[int]]:
    """Signals of this thread wait to be looked at; the mask as it was."""
    child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield {int(number) for number in before}
    finally:
        # Of a program that has ended. To wait for what is pending would be to wait for ever where
        # another thread takes it first; what is ignored for a moment is no longer pending.
        for number in signal.sigpending() & numbers:
            signal.signal(number, signal.signal(number, signal.SIG_IGN) or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if child is not None:
            signal.signal(signal.SIGCHLD, child)


def _waited(pid: int, numbers: set[signal.Signals]) -> int:
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        number, is_known_to_it = _next_signal(numbers)
        if number is not None and number != signal.SIGCHLD and not is_known_to_it:
            with suppress(OSError):
                os.kill(pid, number)


def _next_signal(numbers: set[signal.Signals]) -> tuple[int | None, bool]:
    """A signal, and whether the program got it too, as from the terminal."""
    if hasattr(signal, "sigtimedwait"):
        found = signal.sigtimedwait(numbers, LOOK_S)
        return (None, False) if found is None else (found.si_signo, found.si_code == BY_THE_KERNEL)
    number = signal.sigwait(numbers)  # macOS does not tell who sent it
    return number, number in (signal.SIGINT, signal.SIGQUIT) and sys.stdin.isatty()
