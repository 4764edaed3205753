"""The contract of a format: what it declares, and what it gets to read a trace with.

A format is a package in :mod:`torch_tb_profiler.importers`. It declares itself as one
:class:`Importer`, which :mod:`torch_tb_profiler.importers.registry` lists; the modules that decode
the format are imported when the first such trace is read.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.parts import RecordingPart
from torch_tb_profiler.importers.requested_arguments import (
    RequestedArguments,
    names_from_variant,
    names_variant,
    never_secret,
)
from torch_tb_profiler.storage.format_detection import DetectFormat
from torch_tb_profiler.storage.names import NamePattern

if TYPE_CHECKING:
    from torch_tb_profiler.importers.argument_names import ArgumentListing, ListingLimits
    from torch_tb_profiler.importers.event_query import EventArguments, EventQuery, SearchLimits
    from torch_tb_profiler.importers.source import AnySource
    from torch_tb_profiler.trace.columns import EventColumns

P = TypeVar("P")
R = TypeVar("R")

NO_PYTHON_FRAMES = "/no python frames"


class PieceReader(Protocol):
    """Reads the pieces of a large trace, possibly several at once."""

    def __call__(
        self, pieces: Iterator[P], read_piece: Callable[[P], R], /, *, in_threads: bool = False
    ) -> Iterator[tuple[P, R]]:
        """Yield every piece with its result, in order.

        Args:
            pieces: The pieces; they can be pickled. Some may be consumed ahead of time.
            read_piece: A pure function that can be pickled; it may run in any thread and process.
            in_threads: Whether it runs mostly without the interpreter's lock, so that threads of
                this process read as fast as processes.
        """


def read_sequentially(
    pieces: Iterator[P],
    read_piece: Callable[[P], R],
    /,
    *,
    in_threads: bool = False,  # noqa: ARG001 - the protocol's
) -> Iterator[tuple[P, R]]:
    """Read the pieces one after the other, in this thread."""
    return ((piece, read_piece(piece)) for piece in pieces)


class ReadOptions(Struct, frozen=True):
    """Options of reading a trace; the same file read with different options is another trace.

    Attributes:
        python_frames: Whether Python frames and modules are read.
        part: The part of the recording to read; None for all of it.
        arguments: Names of arguments of slices that are read besides those that columns model.
    """

    python_frames: bool = True
    part: RecordingPart | None = None
    arguments: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        """The options as text, for cache keys; empty for the default options."""
        frames = "" if self.python_frames else NO_PYTHON_FRAMES
        part = "" if self.part is None else self.part.variant
        return frames + names_variant(self.arguments) + part

    @classmethod
    def from_variant(cls, variant: str) -> ReadOptions:
        """The options that :attr:`variant` describes."""
        return cls(
            NO_PYTHON_FRAMES not in variant,
            RecordingPart.from_variant(variant),
            names_from_variant(variant),
        )


def _ignore_progress(_: int) -> None:
    """The default progress callback."""


def _never(*_: int) -> bool:
    return False


class PieceIndexStore(Protocol):
    """Where a format keeps what it learned about the pieces of a file, from reading to reading."""

    def load(self) -> bytes | None:
        """What was stored for the file in its current state, or None."""

    def save(self, index: bytes) -> None:
        """Store it; failures are not reported."""


class Reading(Struct, frozen=True):
    """How a trace is read.

    Attributes:
        options: The options.
        progress: Called with the number of bytes of the stored file that are consumed so far. It
            runs on the reading thread and may raise to cancel the reading.
        read_pieces: Reads the pieces of a trace, for formats that can be split.
        index: Keeps what was learned about its pieces; None keeps nothing.
        max_part_bytes: More text than this is not decoded for a part of a recording.
        is_over_time: Whether reading has taken too long: a reader that does not consume
            ``Source.unpacked`` asks between two steps of its work, and stops there.
        is_full: Whether so many events are more than the budget allows: the reader stops there.
        is_secret: Whether a requested argument, given its name and the JSON text of its value, may
            be a secret.
    """

    options: ReadOptions = field(default_factory=ReadOptions)
    progress: Callable[[int], None] = _ignore_progress
    read_pieces: PieceReader = read_sequentially
    index: PieceIndexStore | None = None
    max_part_bytes: float = math.inf
    is_over_time: Callable[[], bool] = _never
    is_full: Callable[[int], bool] = _never
    is_secret: Callable[[str, str], bool] = never_secret

    @property
    def requested(self) -> RequestedArguments:
        """The arguments that are read on request."""
        return RequestedArguments(self.options.arguments, self.is_secret)


class Importer(Struct, frozen=True):
    """A format.

    Attributes:
        name: Its identifier, ``"kineto"``; ``EventColumns.format`` of its traces.
        title: A description of its files, for messages.
        label: Its short name on the pages.
        module: The module whose ``read(source, reading)`` reads a trace.
        sniff: Whether a file may be of this format, by its first unpacked bytes and its name.
        files: Name patterns of its files.
        folders: Name patterns of folders that are one trace each.
        endings: Endings of files that may be traces, whatever the rest of their name.
        unended: Names without such an ending of files that may be traces: their rank is at the end.
        detect: Classifies a file with one of these endings, by its first unpacked bytes, once
            ``sniff`` has accepted it; None where ``sniff`` is enough.
        replaces: Pairs of endings: a file with the first ending replaces its neighbour of the same
            stem with the second one, which is the same recording and is not listed.
        accompanying: Names of its files that are joined to the trace of their rank in the same
            folder, and not listed beside it; None where none is.
        accompanies_runs: Whether its files beside traces of other formats belong to their run: they
            are no workers of it, and views that read them (``ViewSpec.accompanied_by``) get them.
        members: Name patterns of files in one folder that form one trace per ``worker``.
        finder: The module whose ``find(source, query, limits)`` searches a file for one event; None
            where arguments outside the columns cannot be read.
        part_module: The module whose ``read(source, reading)`` reads a part of a recording.
        argument_lister: The module whose ``list_arguments(source, is_secret, limits)`` lists the
            arguments of a file. A format that has one reads them on request
            (``ReadOptions.arguments``); None where it does not.
        cuts_parts: Whether a part can be cut out of what is read whole. Formats with tables of
            their own beside the events cannot be cut.
        joins_traces: Whether its recordings are joined to a trace of another format in the same
            folder that has the same kernels: profilers of the whole process, without operators.
    """

    name: str
    title: str
    label: str
    module: str
    sniff: Callable[[bytes, str], bool]
    files: tuple[NamePattern, ...] = ()
    folders: tuple[NamePattern, ...] = ()
    endings: tuple[str, ...] = ()
    unended: re.Pattern[str] | None = None
    detect: DetectFormat | None = None
    replaces: tuple[tuple[str, str], ...] = ()
    accompanying: re.Pattern[str] | None = None
    accompanies_runs: bool = False
    members: tuple[NamePattern, ...] = ()
    finder: str | None = None
    part_module: str | None = None
    cuts_parts: bool = False
    argument_lister: str | None = None
    joins_traces: bool = False

    def may_be_named(self, base_name: str) -> bool:
        """Whether a file with this name is inspected."""
        is_unended = self.unended is not None and self.unended.fullmatch(base_name) is not None
        return is_unended or base_name.endswith(self.endings)

    def read(self, source: AnySource, reading: Reading) -> EventColumns:
        """Read the trace in ``source``.

        Raises:
            TraceFormatError: the source is not a readable trace.
            StorageError, OSError: the source cannot be read.
        """
        part = reading.options.part
        module = self.module if part is None else self.part_module or self.module
        if part is not None and self.part_module is None:
            if not self.cuts_parts:
                raise TraceFormatError(
                    "no_parts",
                    f"{source.name}: a part cannot be read of this format ({self.label}).",
                    "Open the whole recording, and choose iterations or a time there.",
                )
            from torch_tb_profiler.importers.cutting import cut_to_part  # noqa: PLC0415 - start-up

            whole = replace(reading, options=replace(reading.options, part=None))
            events: EventColumns = importlib.import_module(module).read(source, whole)
            return cut_to_part(events, part, source.name)
        columns: EventColumns = importlib.import_module(module).read(source, reading)
        return columns

    def find(
        self, source: AnySource, query: EventQuery, limits: SearchLimits
    ) -> EventArguments | None:
        """Search ``source`` for one event; None where the format does not support it.

        Raises:
            StorageError, OSError: the source cannot be read.
            UnpackLimitError: the source exceeds a limit of unpacking.
        """
        if self.finder is None:
            return None
        module = importlib.import_module(self.finder)
        result: EventArguments = module.find(source, query, limits)
        return result

    def list_arguments(
        self, source: AnySource, is_secret: Callable[[str, str], bool], limits: ListingLimits
    ) -> ArgumentListing | None:
        """The arguments that the slices of ``source`` have; None where the format does not support
        it.

        Raises:
            StorageError, OSError: the source cannot be read.
            UnpackLimitError: the source exceeds a limit of unpacking.
        """
        if self.argument_lister is None:
            return None
        module = importlib.import_module(self.argument_lister)
        result: ArgumentListing | None = module.list_arguments(source, is_secret, limits)
        return result
