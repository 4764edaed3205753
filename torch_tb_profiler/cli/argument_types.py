"""Types of command line arguments. Each parses a text; argparse reports what is wrong with it."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_tb_profiler.importers.parts import RecordingPart, Unit

HOST_NAME = re.compile(r"[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
MOST_WORKERS = 1024
MOST_ROWS = 10_000_000
MOST_GB = 1e15
"""Larger than any disk, and small enough for bytes to stay an exact integer."""


def worker_count(text: str) -> int:
    """A number of worker processes."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_WORKERS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST_WORKERS}")
    return int(text)


def host_name(text: str) -> str:
    """A host name or an address in brackets, in lower case."""
    if not HOST_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a host name (without port or http://)")
    return text.lower()


def positive_number(text: str) -> float:
    """A finite number above 0."""
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return number


def size_gb(text: str) -> float:
    """A positive size in 10⁹ bytes."""
    return min(positive_number(text), MOST_GB)


def port_number(text: str) -> int:
    """A TCP port; 0 stands for a free one."""
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port (0 to 65535)")
    return number


def part_by_time(text: str) -> RecordingPart:
    """A part of a recording in microseconds."""
    return _part("us", text)


def part_by_steps(text: str) -> RecordingPart:
    """Some steps of a recording."""
    return _part("steps", text)


def argument_names(text: str) -> tuple[str, ...]:
    """Names of arguments of events, separated by commas."""
    from torch_tb_profiler.importers.requested_arguments import (  # noqa: PLC0415 - start-up
        parse_argument_names,
    )

    try:
        return parse_argument_names(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _part(unit: Unit, text: str) -> RecordingPart:
    from torch_tb_profiler.importers.parts import RecordingPart  # noqa: PLC0415 - start-up

    try:
        return RecordingPart.parse(unit, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def bounded_number(most: float) -> Callable[[str], float]:
    """A type: a number above 0 and up to ``most``."""

    def number(text: str) -> float:
        value = positive_number(text)
        if value > most:
            raise argparse.ArgumentTypeError(f"{text!r} is more than {most:g}")
        return value

    return number


def row_count(text: str) -> int:
    """A number of rows."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_ROWS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST_ROWS}")
    return int(text)
