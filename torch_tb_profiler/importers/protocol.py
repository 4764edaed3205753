"""What a format declares, and what it is given to read with: all that others know of formats.

A format is a package beside this module. It declares itself in one object, an :class:`Importer`,
which is named in :mod:`torch_tb_profiler.importers.registry`; the modules that decode it are
loaded when the first such trace is read.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from torch_tb_profiler.storage.format_detection import DetectFormat
from torch_tb_profiler.storage.names import NamePattern

if TYPE_CHECKING:
    from torch_tb_profiler.importers.event_query import EventArguments, EventQuery, SearchLimits
    from torch_tb_profiler.importers.source import AnySource
    from torch_tb_profiler.trace.columns import EventColumns

P = TypeVar("P")
R = TypeVar("R")

NO_PYTHON_FRAMES = "/no python frames"


class PieceReader(Protocol):
    """Reads the pieces that a large trace is cut into, maybe several at once."""

    def __call__(
        self, pieces: Iterator[P], read_piece: Callable[[P], R], /
    ) -> Iterator[tuple[P, R]]:
        """Every piece with what was read from it, in order.

        Args:
            pieces: They can be pickled. Some may be taken before their turn.
            read_piece: A pure function that can be pickled; it is called here or in any process.
        """


def read_in_turn(pieces: Iterator[P], read_piece: Callable[[P], R], /) -> Iterator[tuple[P, R]]:
    """Read one piece after the other, here."""
    return ((piece, read_piece(piece)) for piece in pieces)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the reader of a trace wants of it; traces read with others are other traces.

    Attributes:
        python_frames: Whether python frames and modules are read, where there are any.
    """

    python_frames: bool = True

    @property
    def variant(self) -> str:
        """The options as text, a part of what a trace is kept under; empty for the usual ones."""
        return "" if self.python_frames else NO_PYTHON_FRAMES

    @classmethod
    def of(cls, variant: str) -> ReadOptions:
        """The options behind the text."""
        return cls(python_frames=variant != NO_PYTHON_FRAMES)


def _unheard(_: int) -> None:
    """Progress that nobody follows."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a trace is read.

    Attributes:
        options: What is wanted of it.
        progress: Told how many bytes of the stored file were used so far. It may raise, to end the
            reading, and is called by the thread that reads.
        read_pieces: Reads the pieces of a trace that its format can cut.
    """

    options: ReadOptions = field(default_factory=ReadOptions)
    progress: Callable[[int], None] = _unheard
    read_pieces: PieceReader = read_in_turn


@dataclass(frozen=True, slots=True)
class Importer:
    """A format.

    Attributes:
        name: As programs know it, ``"kineto"``; ``EventColumns.format`` of its traces.
        title: As people know it, of its files.
        label: As pages call it, beside a run.
        module: The module whose ``read(source, reading)`` reads it.
        sniff: Whether a file may be of this format, by its first bytes, unpacked, and its name.
        files: Names that are those of its files.
        folders: Names that are those of folders which are one trace each.
        endings: Of files that may be traces, whatever else they are called.
        detect: Classifies a file with one of these endings, by its first unpacked bytes, once
            ``sniff`` has accepted it; None where ``sniff`` is enough.
        replaces: (ending, ending of a companion): where a file with the first lies beside one of
            the same stem with the second, that is the same recording, and is not shown.
        members: Names of files of one folder that are one trace together, for each ``worker``.
        finder: The module whose ``find(source, query, limits)`` finds one event again; None where
            arguments outside the columns cannot be read.
    """

    name: str
    title: str
    label: str
    module: str
    sniff: Callable[[bytes, str], bool]
    files: tuple[NamePattern, ...] = ()
    folders: tuple[NamePattern, ...] = ()
    endings: tuple[str, ...] = ()
    detect: DetectFormat | None = None
    replaces: tuple[tuple[str, str], ...] = ()
    members: tuple[NamePattern, ...] = ()
    finder: str | None = None

    def read(self, source: AnySource, reading: Reading) -> EventColumns:
        """The trace that ``source`` holds.

        Raises:
            TraceFormatError: it holds none.
            StorageError, OSError: it cannot be read.
        """
        columns: EventColumns = importlib.import_module(self.module).read(source, reading)
        return columns

    def find(
        self, source: AnySource, query: EventQuery, limits: SearchLimits
    ) -> EventArguments | None:
        """The arguments of one event of ``source``; None where the format cannot find events.

        Raises:
            StorageError, OSError: it cannot be read.
            UnpackLimitError: it unpacks too far.
        """
        if self.finder is None:
            return None
        module = importlib.import_module(self.finder)
        result: EventArguments = module.find(source, query, limits)
        return result
