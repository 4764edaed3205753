"""The arguments of ``torch-tb-profiler record``, and contradictions between them."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence

DEFAULT_OUTPUT = "logs"
DEFAULT_SAMPLE_MS = 100
LONGEST_SAMPLE_MS = 3_600_000
MOST_STEPS = 10**9
NAME = re.compile(r"[^\s/\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]{0,199}")
STEPS = re.compile(r"([0-9]{1,9})(?:(?::|-|\.\.)([0-9]{1,9}))?")

_EPILOG = """\
The program keeps its output, input, signals and exit code. By default steps 5 to 9 are
recorded. Messages of the recorder go to stderr.

examples:
  torch-tb-profiler record -- python train.py --epochs 1
  torch-tb-profiler record --steps 20:24 --memory -- torchrun --nproc-per-node 2 train.py
  torch-tb-profiler record --timer-only -- python -m package.train
  torch-tb-profiler record --trigger USR1 -- python train.py    (then: kill -USR1 PID)
"""


def add_record(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``record``."""
    record = commands.add_parser(
        "record",
        help="run a program unchanged and record it",
        description="Run a program and record every process that trains or infers with torch: some "
        "steps with the profiler; step times, data loading and samples of host and GPUs over the "
        "whole run.",
        epilog=_EPILOG,
        usage="%(prog)s [options] -- COMMAND [ARGUMENT…]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_destination(record)
    _add_when(record)
    _add_what(record)
    record.add_argument(
        "--quiet",
        dest="errors_only",
        action="store_true",
        help="print nothing of the recorder's own but errors",
    )
    record.add_argument("program", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program")


def program_command(program: Sequence[str]) -> list[str]:
    """The command without the ``--`` before it."""
    return list(program[1:] if program[:1] == ["--"] else program)


def contradictions(arguments: argparse.Namespace) -> list[str]:
    """Sentences about options that contradict each other."""
    return [
        f"{first} and {second} cannot be combined: {why}."
        for first, second, why in _pairs()
        if _is_given(arguments, first) and _is_given(arguments, second)
    ]


def parse_steps(text: str) -> tuple[int, int]:
    """First and last step of ``A:B`` or ``A``.

    Raises:
        argparse.ArgumentTypeError: it is neither.
    """
    match = STEPS.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a step (5) nor a range of steps (5:9, both included)"
        )
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    if last < first:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it starts")
    return first, last


def _add_destination(record: argparse.ArgumentParser) -> None:
    group = record.add_argument_group("where")
    group.add_argument(
        "--output",
        default=DEFAULT_OUTPUT,
        type=run_folder,
        metavar="DIR",
        help=f"folder of runs (default: {DEFAULT_OUTPUT})",
    )
    group.add_argument(
        "--finish",
        metavar="FOLDER",
        help="run nothing: finish a run whose recorder was killed together with its program",
    )
    group.add_argument(
        "--name",
        type=folder_name,
        metavar="NAME",
        help="name of this run's folder in DIR (default: program's name with date and time)",
    )
    group.add_argument(
        "--scalars",
        type=run_folder,
        metavar="DIR",
        help="afterwards write step metrics as TensorBoard scalars into this folder",
    )


def _add_when(record: argparse.ArgumentParser) -> None:
    group = record.add_argument_group("when the profiler records")
    group.add_argument(
        "--steps",
        type=parse_steps,
        metavar="A:B",
        help="steps by number, from 0: 5, or 5:9 (both included)",
    )
    group.add_argument("--delay", type=seconds, metavar="S", help="start after S seconds")
    group.add_argument("--duration", type=seconds, metavar="S", help="record for S seconds")
    for name, least, help_text in (
        ("--wait", 0, "steps skipped before each window (default: 3)"),
        ("--warmup", 0, "steps in which the profiler runs without recording (default: 2)"),
        ("--active", 1, "steps per window (default: 5)"),
        ("--repeat", 0, "number of windows, 0 for no limit (default: 1)"),
    ):
        group.add_argument(name, type=Count(least), metavar="N", help=help_text)
    group.add_argument(
        "--trigger",
        type=_trigger,
        metavar="SIGNAL|FILE",
        help="record when the process gets this signal (USR1), or this file is created or touched",
    )
    group.add_argument(
        "--program-range",
        action="store_true",
        help="record from torch.cuda.profiler.start() to stop(), which the program calls",
    )
    group.add_argument(
        "--stop-after", action="store_true", help="end the program when all windows are recorded"
    )


def _add_what(record: argparse.ArgumentParser) -> None:
    group = record.add_argument_group("what is recorded")
    for name, help_text in (
        ("--memory", "allocations"),
        ("--stacks", "Python frames"),
        ("--flops", "estimated FLOPs of operators"),
        ("--modules", "modules of TorchScript programs; --stacks records those of others"),
    ):
        group.add_argument(name, action="store_true", help=help_text)
    group.add_argument(
        "--shapes",
        action=argparse.BooleanOptionalAction,
        help="shapes and types of operator inputs (default: yes)",
    )
    group.add_argument(
        "--timer-only",
        action="store_true",
        help="no profiler: only step times, data loading and samples",
    )
    group.add_argument(
        "--sample-every",
        type=_sample_ms,
        metavar="MS",
        help=f"milliseconds between samples of host and GPUs, 0 for none "
        f"(default: {DEFAULT_SAMPLE_MS})",
    )
    group.add_argument("--no-samples", action="store_true", help="no samples of host and GPUs")
    group.add_argument(
        "--with",
        dest="tool",
        choices=("nsys",),
        help="record with NVIDIA Nsight Systems instead of torch's profiler",
    )


def _pairs() -> list[tuple[str, str, str]]:
    """Pairs of options that contradict each other, and why."""
    pairs = [
        ("--steps", each, "both choose the recorded steps")
        for each in ("--wait", "--active", "--repeat", "--trigger", "--delay", "--duration")
    ]
    pairs += [
        ("--program-range", each, "the program decides when to record")
        for each in (
            "--steps",
            "--wait",
            "--warmup",
            "--active",
            "--repeat",
            "--trigger",
            "--delay",
            "--duration",
            "--stop-after",
            "--timer-only",
            "--with",
        )
    ]
    pairs += [
        ("--duration", each, "one is a time, the other counts steps")
        for each in ("--wait", "--warmup", "--active", "--repeat")
    ]
    pairs += [
        ("--trigger", each, "the trigger decides when recording starts")
        for each in ("--wait", "--delay", "--repeat")
    ]
    pairs += [
        ("--timer-only", each, "no profiler runs with --timer-only")
        for each in ("--memory", "--stacks", "--shapes", "--flops", "--modules", "--trigger")
    ]
    pairs += [
        ("--with", each, "Nsight Systems does not record it")
        for each in ("--memory", "--stacks", "--shapes", "--flops", "--modules", "--timer-only")
    ]
    return [
        *pairs,
        ("--no-samples", "--sample-every", "one disables sampling, the other configures it"),
        ("--flops", "--no-shapes", "FLOPs are estimated from shapes"),
        ("--stop-after", "--repeat 0", "unlimited windows are never complete"),
    ]


def _is_given(arguments: argparse.Namespace, option: str) -> bool:
    special: dict[str, bool] = {
        "--with": arguments.tool is not None,
        "--shapes": arguments.shapes is True,
        "--no-shapes": arguments.shapes is False,
        "--repeat 0": arguments.repeat == 0,
    }
    if option in special:
        return special[option]
    value: object = getattr(arguments, option[2:].replace("-", "_"))
    return value is not None and value is not False


def run_folder(text: str) -> str:
    """A folder to write into."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
        raise argparse.ArgumentTypeError(f"{text!r} is a URL: record into a folder and copy it")
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("it is not a folder name")
    return text


def folder_name(text: str) -> str:
    """The name of one folder."""
    if not NAME.fullmatch(text) or text in (".", ".."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder name")
    return text


def seconds(text: str) -> float:
    """A time from 0 on."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return number


class Count:
    """Parses an integer with a lower limit."""

    def __init__(self, least: int) -> None:
        self._least = least

    def __call__(self, text: str) -> int:
        """Parse it."""
        is_number = text.isascii() and text.isdigit() and len(text) < 11
        if not (is_number and self._least <= int(text) <= MOST_STEPS):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not an integer of at least {self._least}"
            )
        return int(text)


def _sample_ms(text: str) -> int:
    number = Count(0)(text)
    if number > LONGEST_SAMPLE_MS:
        raise argparse.ArgumentTypeError(f"{text} ms is more than an hour")
    return number


def _trigger(text: str) -> str:
    """A signal that is not reserved, or a path."""
    name = text.upper().removeprefix("SIG")
    if not text or name in ("KILL", "STOP", "INT", "TERM", "CHLD", "CONT", "TSTP", "HUP"):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot start a recording; USR1 and USR2 can, or the path of a file"
        )
    return text
