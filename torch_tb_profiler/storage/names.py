"""Parse names of trace files, and the order in which people expect names."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable

from msgspec import Struct

_DIGITS = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[str, int, str], ...]


class TraceName(Struct, frozen=True, eq=False):
    """The parts of a trace file's name.

    Attributes:
        worker: Name of the worker; may be empty.
        stamp: Span stamp (digits), or None.
        format: Name of the format whose files have such names.
        span: Name of a span without a stamp, where the format defines one.
        is_free: Whether people choose such names, so that two of one folder need not be workers of
            one job unless they differ in nothing but the rank.
    """

    worker: str
    stamp: str | None
    format: str = ""
    span: str = ""
    is_free: bool = False

    def __eq__(self, other: object) -> bool:
        """Whether worker and stamp are equal."""
        return isinstance(other, TraceName) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Of what is compared."""
        return hash(self._identity())

    def _identity(self) -> tuple[str, str | None]:
        return self.worker, self.stamp


class NamePattern(Struct, frozen=True):
    """Names of one kind of trace.

    Attributes:
        label: For people, ``"*.pt.trace.json"``.
        pattern: Matches whole names; its group ``worker`` is the worker, its group ``stamp``,
            digits, distinguishes traces of one worker.
        format: The format with such names.
        contains: For a folder: a pattern of a name it must contain; None if its own name is enough.
        span: Name of a span of such a name without a stamp, listed after the numbered ones; empty
            for the usual one, listed before them.
        is_free: As in :class:`TraceName`.
    """

    label: str
    pattern: re.Pattern[str]
    format: str = ""
    contains: re.Pattern[str] | None = None
    span: str = ""
    is_free: bool = False

    @classmethod
    def ending_with(cls, ending: str, *, span: str = "") -> NamePattern:
        """Names ``<worker>[.<stamp>]<ending>``."""
        rest = rf"(?P<worker>.*?)(?:\.(?P<stamp>[0-9]+))?{re.escape(ending)}"
        return cls(f"*{ending}", re.compile(rest, re.DOTALL), span=span)

    def parse(self, base_name: str) -> TraceName | None:
        """Worker and stamp of a base name; None if it does not match.

        >>> NamePattern.ending_with(".pt.trace.json").parse("host_12.1699.pt.trace.json")
        TraceName(worker='host_12', stamp='1699')
        """
        match = self.pattern.fullmatch(base_name)
        if match is None:
            return None
        groups = match.groupdict()
        stamp = groups.get("stamp")
        span = self.span if stamp is None else ""
        return TraceName(groups.get("worker") or "", stamp, self.format, span, self.is_free)


class TraceNames(Struct, frozen=True):
    """The names that traces have. The formats declare them; discovery knows no format.

    Attributes:
        files: Names of files.
        folders: Names of folders that are one trace each.
        endings: Endings of files that may be traces, whatever else their names are.
        unended: Names of files without such an ending that may be traces.
        members: Names of files of one folder that form one trace per worker.
        replaces: (ending, ending of a companion) of files with one stem that are one recording.
        accompanying: (format, names) of files that are joined to the trace of their rank.
        accompanying_runs: Formats of files that belong to the run of the other traces of their
            folder.
    """

    files: tuple[NamePattern, ...]
    folders: tuple[NamePattern, ...] = ()
    endings: tuple[str, ...] = ()
    unended: tuple[re.Pattern[str], ...] = ()
    members: tuple[NamePattern, ...] = ()
    replaces: tuple[tuple[str, str], ...] = ()
    accompanying: tuple[tuple[str, re.Pattern[str]], ...] = ()
    accompanying_runs: tuple[str, ...] = ()

    def is_inspected(self, base_name: str) -> bool:
        """Whether a file with this name may be a trace by its content."""
        return base_name.endswith(self.endings) or any(
            pattern.fullmatch(base_name) for pattern in self.unended
        )

    def parse_file(self, base_name: str) -> TraceName | None:
        """Worker and stamp of a file's name; None if it is not the name of a trace."""
        return _first_match(base_name, self.files)

    def parse_folder(
        self, base_name: str, list_contents: Callable[[], Iterable[str]] | None = None
    ) -> TraceName | None:
        """Worker and stamp of a folder's name; None if it is not the name of a trace.

        Args:
            base_name: The name.
            list_contents: Returns the names in the folder; None to go by the name alone. People
                give their own folders the names that tools use.
        """
        for pattern in self.folders:
            parsed = pattern.parse(base_name)
            if parsed is not None and (
                list_contents is None
                or pattern.contains is None
                or any(pattern.contains.fullmatch(name) for name in list_contents())
            ):
                return parsed
        return None

    def parse_member(self, base_name: str) -> TraceName | None:
        """Worker of the trace that a file is a part of, by its name; None if it is part of none."""
        return _first_match(base_name, self.members)

    def parse_any(self, base_name: str) -> TraceName:
        """Worker and stamp of a file that the user named; any name is accepted."""
        parsed = self.parse_file(base_name) or self.parse_folder(base_name)
        if parsed is not None:
            return parsed
        longest = sorted(self.endings, key=len, reverse=True)
        stem = base_name.removesuffix(next(filter(base_name.endswith, longest), ""))
        return TraceName(stem or base_name, None)

    @property
    def patterns_text(self) -> str:
        """The names of traces, for people."""
        return _join_names([pattern.label for pattern in (*self.files, *self.folders)])

    @property
    def endings_text(self) -> str:
        """The endings of files that are inspected, for people."""
        return _join_names(self.endings)


def _first_match(base_name: str, patterns: Iterable[NamePattern]) -> TraceName | None:
    return next(filter(None, (pattern.parse(base_name) for pattern in patterns)), None)


GZIP_ENDING = ".gz"


def _join_names(names: Iterable[str]) -> str:
    """Each name once, compressed and uncompressed ones together: ``".json(.gz) and .db"``."""
    distinct = dict.fromkeys(names)
    label = [
        f"{name}({GZIP_ENDING})" if name + GZIP_ENDING in distinct else name
        for name in distinct
        if not (name.endswith(GZIP_ENDING) and name.removesuffix(GZIP_ENDING) in distinct)
    ]
    *most, last = label or [""]
    return f"{', '.join(most)} and {last}" if most else last


GRAPH_CAPTURE_FOLDERS = ("capture_traces", "graph_capture_profile")
"""Folders of inference servers with traces of how they captured their graphs: they accompany the
traces next to the folder."""


def run_order(run: str) -> tuple[bool, NaturalKey]:
    """Sort key of runs: graph captures after all others."""
    return not set(GRAPH_CAPTURE_FOLDERS).isdisjoint(run.split("/")), natural_key(run)


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


class DistinctNames:
    """Gives equal names endings: ``+``, then ``+2``, ``+3`` and so on.

    Names that are equal only because their bytes are no text may be many: each ending is tried
    once.
    """

    def __init__(self) -> None:
        self._repeats: dict[Hashable, int] = {}

    def choose(self, name: str, key: Hashable, is_taken: Callable[[str], bool]) -> str:
        """``name``, with an ending if it is taken.

        Args:
            name: The name.
            key: What the name and its scope are; equal keys share their endings.
            is_taken: Whether a name is in use.
        """
        repeats = self._repeats.get(key, 0)
        chosen = f"{name}{_ending(repeats)}"
        while is_taken(chosen):
            repeats += 1
            chosen = f"{name}{_ending(repeats)}"
        self._repeats[key] = repeats
        return chosen


def _ending(repeats: int) -> str:
    return "+" * repeats if repeats < 2 else f"+{repeats}"
