"""What the name of a trace file says, and the order people expect names in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_DIGITS = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class TraceName:
    """The parts of a trace file's name: worker (maybe empty), span stamp (digits, or None), the
    name of the format whose files are called so, and what a span without a stamp is called where
    the format says it."""

    worker: str
    stamp: str | None
    format: str = field(default="", repr=False, compare=False)
    span: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class NamePattern:
    """Names of traces of some kind.

    Attributes:
        shown: For people, ``"*.pt.trace.json"``.
        pattern: Matches whole names; its group ``worker`` says whose trace it is, and ``stamp``,
            digits, which one of that worker.
        format: Of the format whose names they are.
        holds: Of a folder: something of such a name lies in it; None where its own name says
            enough.
        span: What a span of such a name without a stamp is called, behind the numbered ones; empty
            where it is the usual one, before them.
    """

    shown: str
    pattern: re.Pattern[str]
    format: str = ""
    holds: re.Pattern[str] | None = None
    span: str = ""

    @classmethod
    def ending_with(cls, ending: str, *, span: str = "") -> NamePattern:
        """Names ``<worker>[.<stamp>]<ending>``."""
        rest = rf"(?P<worker>.*?)(?:\.(?P<stamp>[0-9]+))?{re.escape(ending)}"
        return cls(f"*{ending}", re.compile(rest, re.DOTALL), span=span)

    def parse(self, base_name: str) -> TraceName | None:
        """Worker and stamp of a base name; None when it is another kind of name.

        >>> NamePattern.ending_with(".pt.trace.json").parse("host_12.1699.pt.trace.json")
        TraceName(worker='host_12', stamp='1699')
        """
        match = self.pattern.fullmatch(base_name)
        if match is None:
            return None
        said = match.groupdict()
        stamp = said.get("stamp")
        span = self.span if stamp is None else ""
        return TraceName(said.get("worker") or "", stamp, self.format, span)


@dataclass(frozen=True, slots=True)
class TraceNames:
    """The names by which traces are found. Formats say which; discovery knows no format.

    Attributes:
        files: Names of files.
        folders: Names of folders that are one trace each.
        endings: Of files that may be traces, whatever else they are called.
        members: Names of files of one folder that are one trace together, for each worker.
        replaces: (ending, ending of a companion) of files of one stem that are one recording.
    """

    files: tuple[NamePattern, ...]
    folders: tuple[NamePattern, ...] = ()
    endings: tuple[str, ...] = ()
    members: tuple[NamePattern, ...] = ()
    replaces: tuple[tuple[str, str], ...] = ()

    def file(self, base_name: str) -> TraceName | None:
        """Worker and stamp of a file's name; None when it is not that of a trace."""
        return _parsed(base_name, self.files)

    def folder(
        self, base_name: str, held: Callable[[], Iterable[str]] | None = None
    ) -> TraceName | None:
        """Worker and stamp of a folder's name; None when it is not that of a trace.

        Args:
            base_name: The name.
            held: Gives the names of what lies in it; None to go by the name alone. People call
                folders of their own as tools call theirs.
        """
        for pattern in self.folders:
            parsed = pattern.parse(base_name)
            if parsed is not None and (
                held is None
                or pattern.holds is None
                or any(pattern.holds.fullmatch(each) for each in held())
            ):
                return parsed
        return None

    def member(self, base_name: str) -> TraceName | None:
        """Whose trace a file is a part of, by its name; None when it is of none."""
        return _parsed(base_name, self.members)

    def named_directly(self, base_name: str) -> TraceName:
        """Worker and stamp of what somebody named: any name will do."""
        parsed = self.file(base_name) or self.folder(base_name)
        if parsed is not None:
            return parsed
        longest = sorted(self.endings, key=len, reverse=True)
        stem = base_name.removesuffix(next(filter(base_name.endswith, longest), ""))
        return TraceName(stem or base_name, None)

    @property
    def shown(self) -> str:
        """What is looked for, for people."""
        return _listed([pattern.shown for pattern in (*self.files, *self.folders)])

    @property
    def shown_endings(self) -> str:
        """The endings of files that are looked into, for people."""
        return _listed(self.endings)


def _parsed(base_name: str, patterns: Iterable[NamePattern]) -> TraceName | None:
    return next(filter(None, (pattern.parse(base_name) for pattern in patterns)), None)


PACKED = ".gz"


def _listed(names: Iterable[str]) -> str:
    """Each once, and what is packed with what is not: ``".json(.gz) and .db"``."""
    distinct = dict.fromkeys(names)
    shown = [
        f"{name}({PACKED})" if name + PACKED in distinct else name
        for name in distinct
        if not (name.endswith(PACKED) and name.removesuffix(PACKED) in distinct)
    ]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


BESIDE_FOLDERS = ("capture_traces", "graph_capture_profile")
"""Folders of inference servers for traces of how they captured their graphs: they belong to the
traces beside the folder."""


def run_order(run: str) -> tuple[bool, NaturalKey]:
    """By what runs are listed: those that belong to others behind all others."""
    return not set(BESIDE_FOLDERS).isdisjoint(run.split("/")), natural_key(run)


def natural_key(text: str) -> NaturalKey:
    """Sort key that puts ``rank2`` before ``rank10``: runs of digits compare as numbers.

    Numbers compare by length first, so a stamp of any size needs no conversion.
    """
    parts = _DIGITS.split(text)
    key: list[tuple[str, int, str]] = []
    for index in range(0, len(parts), 2):
        digits = parts[index + 1].lstrip("0") if index + 1 < len(parts) else ""
        key.append((parts[index], len(digits), digits))
    return (*key, ("", 0, text))
