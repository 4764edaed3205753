"""What runtime and driver calls do to the thread that makes them, by their names."""

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
        kind: What they do (the head of ``host_calls.toml`` says what each kind means).
        pattern: Regular expression of whole names, any case.
        examples: Names this entry must take (tests check each).
    """

    kind: CallKind
    pattern: str
    examples: tuple[str, ...]


class HostCallsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``host_calls.toml``.

    Attributes:
        operators: Regular expression of whole names of operators that fetch a value.
        not_of_the_profiler: The same of overhead that is not the profiler's own.
        calls: The ordered kinds.
    """

    operators: str
    not_of_the_profiler: str
    calls: tuple[HostCall, ...]


@once
def host_calls_file() -> HostCallsFile:
    """The entries as they stand in the file."""
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


def is_of_the_profiler(overhead: str) -> bool:
    """Whether a run without the profiler would not have overhead of this name."""
    return _not_of_the_profiler().fullmatch(overhead) is None


def call_kind(name: str) -> CallKind | None:
    """The kind of a runtime or driver call; None where it does nothing of these."""
    for pattern, kind in _compiled():
        if pattern.fullmatch(name):
            return kind
    return None


def fetches_a_value(operator: str) -> bool:
    """Whether an operator of this name returns only when the device has computed its result."""
    return _operators().fullmatch(operator) is not None
