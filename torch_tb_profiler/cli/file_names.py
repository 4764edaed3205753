"""Names of the files that answers become: distinct, the same every time, fit for any file system.

An answer is ``VIEW``, or ``RUN.WORKER.SPAN.VIEW`` where there are several traces. Names that are
equal, also without regard to case, get the end of their place's path before them, where they come
from different places, and else a few characters of a checksum behind them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass

MAX_STEM_BYTES = 200
"""Of the 255 that file systems take; the rest is for the name of a table and a suffix."""

DIGEST_CHARS = 8

_NOT_IN_FILE_NAMES = re.compile(r"[^\w.+-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)
"""Devices of Windows, whatever stands behind the first point."""
_PATH_SEPARATOR = re.compile(r"[/\\]+")


@dataclass(frozen=True, slots=True)
class AnswerName:
    """What tells an answer from the others of one command.

    Attributes:
        place: Path or URL that was asked for, without secrets.
        run: Of the trace, as are ``worker`` (``all`` for views of a whole run) and ``span``.
        worker: See ``run``.
        span: See ``run``.
        view: The view.
    """

    place: str
    run: str
    worker: str
    span: str
    view: str


def file_stems(names: Sequence[AnswerName], *, several_traces: bool) -> list[str]:
    """The names of files without suffix, one per answer, no two equal on any file system.

    Args:
        names: The answers in order. They may be equal: a place may be given twice.
        several_traces: Whether they are of more than one trace; else the view alone is the name.
    """
    parts = [_parts(name) if several_traces else [name.view] for name in names]
    stems = [_fitted(part) for part in parts]
    labels = _place_labels([name.place for name in names])
    for row in _in_several_places(stems, names):
        stems[row] = _fitted([labels[names[row].place], *parts[row]])
    for row in _repeated(stems):
        identity = "\0".join(astuple(names[row]))
        stems[row] += f"~{_digest(identity)}"
    return _numbered(stems)


def _parts(name: AnswerName) -> list[str]:
    return [_safe(part) for part in (name.run, name.worker, name.span)] + [name.view]


def _safe(text: str) -> str:
    """A part of a name without separators, control characters and blanks, never empty."""
    safe = _NOT_IN_FILE_NAMES.sub("_", unicodedata.normalize("NFC", text))
    return "_" if not safe.strip(".") else safe


def _fitted(parts: Sequence[str]) -> str:
    """The parts joined by points. What is too long is cut before the view, and tells so by a
    checksum of what it was."""
    stem = ".".join(parts)
    if stem.startswith((".", "-")) or _RESERVED.match(stem):
        stem = f"_{stem}"
    if len(stem.encode()) <= MAX_STEM_BYTES:
        return stem
    end = f"~{_digest(stem)}.{parts[-1]}"
    head = stem.encode()[: MAX_STEM_BYTES - len(end.encode())]
    return head.decode("utf-8", "ignore") + end


def _place_labels(places: Sequence[str]) -> dict[str, str]:
    """Per place as much of the end of its path as no other one has."""
    paths = {place: [p for p in _PATH_SEPARATOR.split(place) if p] for place in places}
    longest = max((len(path) for path in paths.values()), default=0)
    labels: dict[str, str] = {}
    for depth in range(1, longest + 1):
        ends = {place: "_".join(map(_safe, path[-depth:])) for place, path in paths.items()}
        count = Counter(end.casefold() for end in ends.values())
        for place, end in ends.items():
            if count[end.casefold()] == 1 or depth == longest:
                labels.setdefault(place, end or "_")
    return labels


def _in_several_places(stems: Sequence[str], names: Sequence[AnswerName]) -> list[int]:
    """Rows whose name another place has, too."""
    places: dict[str, set[str]] = {}
    for stem, name in zip(stems, names, strict=True):
        places.setdefault(_folded(stem), set()).add(name.place)
    return [row for row, stem in enumerate(stems) if len(places[_folded(stem)]) > 1]


def _repeated(stems: Sequence[str]) -> list[int]:
    count = Counter(map(_folded, stems))
    return [row for row, stem in enumerate(stems) if count[_folded(stem)] > 1]


def _numbered(stems: Sequence[str]) -> list[str]:
    """The same answer asked for again is a second file."""
    taken: set[str] = set()
    distinct = []
    for stem in stems:
        name, number = stem, 1
        while _folded(name) in taken:
            number += 1
            name = f"{stem}~{number}"
        taken.add(_folded(name))
        distinct.append(name)
    return distinct


def _folded(stem: str) -> str:
    """What a file system that ignores case, or spells letters with accents in two ways, sees."""
    return unicodedata.normalize("NFC", stem.casefold())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
