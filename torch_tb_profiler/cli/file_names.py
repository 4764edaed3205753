"""Names of the files for answers: unique, reproducible, valid on every file system.

A name is ``VIEW``, or ``RUN.WORKER.SPAN.VIEW`` for several traces. Equal names (ignoring case) are
prefixed with the end of the path of their location if the locations differ, and otherwise get a
short checksum as a suffix.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import astuple

from torch_tb_profiler.reports.text import DEVICE_NAMES

MAX_STEM_BYTES = 200
"""File systems allow 255; the rest is reserved for the name of a table and a suffix."""

DIGEST_CHARS = 8

_NOT_IN_FILE_NAMES = re.compile(r"[^\w.+-]+")
_PATH_SEPARATOR = re.compile(r"[/\\]+")


class AnswerName(Struct, frozen=True):
    """What identifies an answer among those of one command.

    Attributes:
        location: Path or URL given on the command line, without secrets.
        run: Run of the trace.
        worker: Its worker; ``all`` for views of a whole run.
        span: Its span.
        view: Name of the view.
    """

    location: str
    run: str
    worker: str
    span: str
    view: str


def file_stems(names: Sequence[AnswerName], *, several_traces: bool) -> list[str]:
    """File names without suffix, one per answer, unique on every file system.

    Args:
        names: The answers in order. They may be equal: a location may be given twice.
        several_traces: Whether there is more than one trace; otherwise the name is the view alone.
    """
    parts = [_parts(name) if several_traces else [name.view] for name in names]
    stems = [_shorten(part) for part in parts]
    labels = _location_labels([name.location for name in names])
    for row in _rows_of_several_locations(stems, names):
        stems[row] = _shorten([labels[names[row].location], *parts[row]])
    for row in _repeated(stems):
        identity = "\0".join(astuple(names[row]))
        stems[row] += f"~{_digest(identity)}"
    return _with_distinct_names(stems)


def _parts(name: AnswerName) -> list[str]:
    return [_sanitize(part) for part in (name.run, name.worker, name.span)] + [name.view]


def _sanitize(text: str) -> str:
    """Replace separators, control characters and blanks; never empty."""
    safe = _NOT_IN_FILE_NAMES.sub("_", unicodedata.normalize("NFC", text))
    return "_" if not safe.strip(".") else safe


def _shorten(parts: Sequence[str]) -> str:
    """Join parts with dots. A name that is too long is shortened before the view and gets a
    checksum of the full name."""
    stem = ".".join(parts)
    if stem.startswith((".", "-")) or DEVICE_NAMES.match(stem):
        stem = f"_{stem}"
    if len(stem.encode()) <= MAX_STEM_BYTES:
        return stem
    end = f"~{_digest(stem)}.{parts[-1]}"
    head = stem.encode()[: MAX_STEM_BYTES - len(end.encode())]
    return head.decode("utf-8", "ignore") + end


def _location_labels(locations: Sequence[str]) -> dict[str, str]:
    """The shortest unique end of the path of each location."""
    paths = {location: [p for p in _PATH_SEPARATOR.split(location) if p] for location in locations}
    longest = max((len(path) for path in paths.values()), default=0)
    labels: dict[str, str] = {}
    for depth in range(1, longest + 1):
        ends = {
            location: "_".join(map(_sanitize, path[-depth:])) for location, path in paths.items()
        }
        count = Counter(end.casefold() for end in ends.values())
        for location, end in ends.items():
            if count[end.casefold()] == 1 or depth == longest:
                labels.setdefault(location, end or "_")
    return labels


def _rows_of_several_locations(stems: Sequence[str], names: Sequence[AnswerName]) -> list[int]:
    """Rows whose name also occurs at another location."""
    locations: dict[str, set[str]] = {}
    for stem, name in zip(stems, names, strict=True):
        locations.setdefault(_folded(stem), set()).add(name.location)
    return [row for row, stem in enumerate(stems) if len(locations[_folded(stem)]) > 1]


def _repeated(stems: Sequence[str]) -> list[int]:
    count = Counter(map(_folded, stems))
    return [row for row, stem in enumerate(stems) if count[_folded(stem)] > 1]


def _with_distinct_names(stems: Sequence[str]) -> list[str]:
    """Number identical answers: each gets its own file."""
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
    """The name as seen by file systems that ignore case or normalize Unicode."""
    return unicodedata.normalize("NFC", stem.casefold())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
