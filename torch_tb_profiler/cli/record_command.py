"""``torch-tb-profiler record``: runs a program unchanged and records it."""

from __future__ import annotations

import os
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from io import StringIO

from msgspec import Struct

from torch_tb_profiler.cli.exits import BAD_USAGE, print_error
from torch_tb_profiler.cli.record_arguments import (
    DEFAULT_SAMPLE_MS,
    contradictions,
    program_command,
)
from torch_tb_profiler.cli.record_folder import RunFolder, make_folder, program_name
from torch_tb_profiler.cli.record_messages import (
    finish_left_run,
    print_end,
    print_line,
    print_start,
)
from torch_tb_profiler.recorder import launch
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.windows.nsys import NsysMissingError, nsys_command

USAGE_HINT = "Example: torch-tb-profiler record -- python train.py"


class Recorded(Struct, frozen=True):
    """How a program that was recorded ended.

    Attributes:
        code: Its exit code, or the negative number of the signal that killed it; 2 for
            contradicting options or a folder with nothing to finish, 126 and 127 for a program that
            cannot be run.
        folder: The folder of the run, which does not exist if nothing was recorded; None if the
            program was not run or there is no folder.
    """

    code: int
    folder: str | None = None


def run(arguments: Namespace) -> int:
    """Run the program to its end, then print what was recorded.

    Returns:
        The exit code of :class:`Recorded`.
    """
    return record(arguments).code


def record(arguments: Namespace) -> Recorded:
    """Run the program to its end, then print what was recorded."""
    command = program_command(arguments.program)
    if arguments.finish is not None and not command:
        return Recorded(finish_left_run(arguments.finish))
    if not command:
        print_error("No program is given.", USAGE_HINT)
        return Recorded(BAD_USAGE)
    problems = contradictions(arguments)
    for problem in problems:
        print_error(problem)
    if problems:
        return Recorded(BAD_USAGE)
    if arguments.tool == "nsys":
        try:
            nsys_command(Options(folder=os.getcwd()), command)
        except NsysMissingError as error:
            print_error(str(error))
            return Recorded(BAD_USAGE)
    with _notes() as notes:
        return _record(arguments, command, notes)


def _record(arguments: Namespace, command: Sequence[str], notes: str) -> Recorded:
    folder = make_folder(arguments.output, arguments.name, program_name(command))
    options = None if folder.path is None else _options(arguments, folder.path, command)
    with _errors_only(arguments):
        print_start(folder, options, arguments.name)
    started = list(command)
    if options is not None and options.nsys:
        started = nsys_command(options, command)
    try:
        ended = launch.run(started, launch.environment(options, notes, os.environ))
    except launch.CannotStartError as error:
        _remove(folder)
        print_error(str(error))
        return Recorded(error.code)
    if options is not None:
        try:
            with _errors_only(arguments):
                print_end(folder, options, ended, notes)
                _write_scalars(arguments, folder)
        except KeyboardInterrupt:
            print_line(f"Interrupted; the recording is in {folder.path}.")
        except Exception as error:  # the exit code is the program's
            print_line(f"The recording is in {folder.path}; analyzing it failed: {error!r}.")
    return Recorded(ended.code, folder.path)


def _options(arguments: Namespace, folder: str, command: Sequence[str]) -> Options:
    sample_ms = DEFAULT_SAMPLE_MS if arguments.sample_every is None else arguments.sample_every
    trigger = arguments.trigger
    if trigger is not None and os.sep in trigger:
        trigger = os.path.abspath(trigger)  # the program may change its working folder
    return Options(
        folder=folder,
        steps=arguments.steps,
        delay_s=arguments.delay,
        duration_s=arguments.duration,
        wait=arguments.wait,
        warmup=arguments.warmup,
        active=arguments.active,
        repeat=arguments.repeat,
        memory=arguments.memory,
        stacks=arguments.stacks,
        shapes=arguments.shapes is not False,
        flops=arguments.flops,
        modules=arguments.modules,
        timer_only=arguments.timer_only,
        sample_every_ms=0 if arguments.no_samples else sample_ms,
        stop_after=arguments.stop_after,
        trigger=trigger,
        program_range=arguments.program_range,
        nsys=arguments.tool == "nsys",
        program=program_name(command),
    )


def _write_scalars(arguments: Namespace, folder: RunFolder) -> None:
    if arguments.scalars is not None and folder.path is not None and os.path.isdir(folder.path):
        from torch_tb_profiler.cli.scalars_command import write_run  # noqa: PLC0415 - polars

        write_run(folder.path, arguments.scalars, print_line)


@contextmanager
def _errors_only(arguments: Namespace) -> Iterator[None]:
    """With ``--quiet``, without messages; those of the program are its own."""
    with redirect_stderr(StringIO()) if arguments.errors_only else nullcontext():
        yield


@contextmanager
def _notes() -> Iterator[str]:
    """Path of a temporary file for notes of the program's processes; empty if there can be none."""
    try:
        file, path = tempfile.mkstemp(prefix="torch-tb-profiler-", suffix=".notes")
        os.close(file)
    except OSError:
        path = ""
    try:
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)


def _remove(folder: RunFolder) -> None:
    """Remove the folders of a run that did not start."""
    for path in filter(None, [folder.path, folder.path and os.path.dirname(folder.path)]):
        with suppress(OSError):
            os.rmdir(path)
