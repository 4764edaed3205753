"""Effects of runtime and driver calls on the calling thread, by their names."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

CallKind = Literal["graph", "synchronize", "copy", "asynchronous", "release"]


class HostCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls of one kind.

    Attributes:
        kind: What they do (the head of ``host_calls.toml`` explains each kind).
        pattern: Regular expression of whole names, case-insensitive.
        examples: Names that must match this entry (tests check each).
    """

    kind: CallKind
    pattern: str
    examples: tuple[str, ...]


class HostCallsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``host_calls.toml``.

    Attributes:
        operators: Regular expression of the whole names of operators that fetch a value.
        not_of_the_profiler: The same for overhead events that are not of the profiler.
        calls: The kinds, in order.
    """

    operators: str
    not_of_the_profiler: str
    calls: tuple[HostCall, ...]


@once
def host_calls_file() -> HostCallsFile:
    """The entries of the file."""
    return load("host_calls.toml", HostCallsFile)


@once
def _compiled() -> tuple[tuple[re.Pattern[str], CallKind], ...]:
    entries = host_calls_file().calls
    return tuple((re.compile(entry.pattern, re.IGNORECASE), entry.kind) for entry in entries)


@once
def _operators() -> re.Pattern[str]:
    return re.compile(host_calls_file().operators)


@once
def _not_of_the_profiler() -> re.Pattern[str]:
    return re.compile(host_calls_file().not_of_the_profiler, re.IGNORECASE)


def is_profiler_overhead(overhead: str) -> bool:
    """Whether overhead of this name belongs to the profiler: a run without it has none."""
    return _not_of_the_profiler().fullmatch(overhead) is None


def call_kind(name: str) -> CallKind | None:
    """The kind of a runtime or driver call; None for other calls."""
    for pattern, kind in _compiled():
        if pattern.fullmatch(name):
            return kind
    return None


def fetches_value(operator: str) -> bool:
    """Whether an operator of this name returns only after the device has computed its result."""
    return _operators().fullmatch(operator) is not None
