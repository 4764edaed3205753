"""Copies a recording, a file or a folder, without what is private."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from isal import isal_zlib
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import label_of
from torch_tb_profiler.requests.errors import LoadingError, OpenError
from torch_tb_profiler.scrubbing.cell_values import CellScrubber
from torch_tb_profiler.scrubbing.converted_copy import (
    ENDING,
    exported,
    lost_figures,
    opened_trace,
)
from torch_tb_profiler.scrubbing.file_names import FileNames
from torch_tb_profiler.scrubbing.file_writers import FileWriters, is_rewritten, texts_of
from torch_tb_profiler.scrubbing.json_values import JsonScrubber
from torch_tb_profiler.scrubbing.learning import LearnedNames
from torch_tb_profiler.scrubbing.original import OriginalFile
from torch_tb_profiler.scrubbing.originals import (
    SIDECAR,
    JointRecording,
    Originals,
    list_originals,
)
from torch_tb_profiler.scrubbing.remaining import RemainingCollector
from torch_tb_profiler.scrubbing.replacements import Replacements
from torch_tb_profiler.scrubbing.result import CopiedFile, OmittedFile, ScrubResult
from torch_tb_profiler.scrubbing.same_numbers import first_difference
from torch_tb_profiler.scrubbing.targets import check_target, single_target
from torch_tb_profiler.scrubbing.texts import TextScrubber
from torch_tb_profiler.storage.decompress import UnpackLimitError, decompressed
from torch_tb_profiler.storage.detected_names import recording_time_s
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, open_location, read_chunks
from torch_tb_profiler.trace.quality import QualityReport

NO_WRITER = "Its format cannot be rewritten."
HASHED_WORDS = (
    " A view recognizes names by words that --hash-names hashes: scrub it without that option."
)
DUMP = "flight_recorder"
GZIP_LEVEL, GZIP_WBITS, PACKED = 2, 31, ".gz"
MANY_BYTES = 1 << 16
"""Pieces are merged to so many bytes before they are packed and written."""

UNREADABLE = (LoadingError, TraceFormatError, StorageError, UnpackLimitError, OSError, ValueError)


class ScrubOptions(Struct, frozen=True):
    """What is removed beyond what always is.

    Attributes:
        hashes_names: Whether names of the program are hashed.
        salt: Key of all hashes; None for a random one.
        removes_shapes: Whether shapes and values of inputs are removed.
    """

    hashes_names: bool = False
    salt: str | None = None
    removes_shapes: bool = False


def scrub_recording(
    source: str,
    target: str,
    options: ScrubOptions | None = None,
    on_file: Callable[[str], None] = lambda _: None,
) -> ScrubResult:
    """Write a copy without what is private.

    Args:
        source: A recording, or a folder of some.
        target: The copy; it must not exist, or be an empty folder.
        options: What else is removed.
        on_file: Called with the name of each file that is read or written next.

    Raises:
        RequestError: ``target`` may not be written.
        OpenError: nothing could be copied.
    """
    check_target(source, target)
    try:
        originals = list_originals(source)
    except StorageError as error:
        raise OpenError.of(error) from error
    copy = _Copy(source, target, originals, options or ScrubOptions(), on_file)
    copy.write()
    if not copy.files:
        by_weight = sorted(copy.omitted, key=lambda each: not each.is_recording)
        reasons = [f" {each.source}: {each.reason}" for each in by_weight[:1]]
        message = f"Nothing of {source} was copied.{''.join(reasons)}"
        raise OpenError("nothing_copied", message, "Name a recording, or a folder of some.")
    return copy.result()


class _Copy:
    """One copy while it is written."""

    def __init__(
        self,
        source: str,
        target: str,
        originals: Originals,
        options: ScrubOptions,
        on_file: Callable[[str], None],
    ) -> None:
        self._source, self._target = source, target
        self._is_single = not os.path.isdir(source)
        self._originals = originals
        self._on_file = on_file
        self._options = options
        self._replacements = Replacements(options.salt)
        self._learned = LearnedNames(self._replacements)
        self._remaining = RemainingCollector(not options.hashes_names)
        plain = TextScrubber(self._replacements, self._learned, hashes_names=False)
        self._texts = plain
        named = TextScrubber(self._replacements, self._learned, options.hashes_names)
        values, header = (
            JsonScrubber(texts, self._remaining, options.removes_shapes) for texts in (named, plain)
        )
        cells = CellScrubber(values, header, plain)
        self._writers = FileWriters(values, header, cells, self._remaining)
        self._folders: dict[str, str] = {}
        self.files: list[CopiedFile] = []
        self.omitted = list(originals.omitted)

    def write(self) -> None:
        """Read all files for names, then write the copies."""
        files, joint = self._originals.files, self._originals.joint
        names = [file.name for file in files] + [recording.name for recording in joint]
        names += [each.source for each in self.omitted]
        if not self._is_single:
            names.append(os.path.basename(os.path.realpath(self._source)))
        self._targets = targets = FileNames(names, self._replacements, self._learned)
        for file in [*files, *(member for each in joint for member in each.files)]:
            self._on_file(file.name)
            with suppress(*UNREADABLE):  # writing the copy says what cannot be read
                self._learned.learn(texts_of(file))
        for file in files:
            self._on_file(file.name)
            self._copy_file(file, targets)
        for each in joint:
            self._on_file(each.name)
            self._copy_joint(each, targets)

    def result(self) -> ScrubResult:
        """What was done."""
        removed = tuple(self._replacements.removed())
        omitted = tuple(map(self._with_public_texts, self.omitted))
        self._remaining.add_ignored_names(len(self._learned.ignored))
        remaining = tuple(self._remaining.facts())
        return ScrubResult(self._target, tuple(self.files), omitted, removed, remaining)

    def _with_public_texts(self, omitted: OmittedFile) -> OmittedFile:
        """The same with a name and a reason that hold nothing private."""
        name = self._targets.target(omitted.source)
        reason = omitted.reason.replace(os.path.basename(omitted.source), name)
        return replace(omitted, name=name, public_reason=self._texts.scrub(reason, "a reason"))

    def _copy_file(self, file: OriginalFile, targets: FileNames) -> None:
        writer = self._writers.writer(file)
        if writer is None:
            self._convert(file.name, file.location, label_of(file.format or ""), targets)
            return
        target = targets.target(file.name)
        quality = QualityReport()
        is_packed = self._path(target).name.endswith(PACKED) if self._is_single else file.is_packed
        try:
            path = self._write(target, writer(quality), is_packed)
        except _UnreadableError as error:
            reason = _problem(file.location) if is_rewritten(file) else ""
            self.omitted.append(OmittedFile(file.name, reason or str(error), is_recording=True))
            return
        if is_rewritten(file) or self._may_lose_figures(file):
            reason = self._difference(file.location, open_location(str(path)))
            if reason:
                path.unlink()
                self.omitted.append(OmittedFile(file.name, reason, is_recording=True))
                return
        self._add(file.name, target, path, _notes(quality))

    def _may_lose_figures(self, file: OriginalFile) -> bool:
        """Whether words may be hashed by which views recognize names. The rank of a dump is in its
        name, which the user chooses where the copy is one file."""
        return self._options.hashes_names and not (
            file.format == SIDECAR or (self._is_single and file.format == DUMP)
        )

    def _copy_joint(self, joint: JointRecording, targets: FileNames) -> None:
        """Copy the files of a recording of several files, each in its own form."""
        name = joint.name
        if name == ".":  # readers need its name
            name = os.path.basename(os.path.realpath(self._source))
        if name not in self._folders:
            self._folders[name] = targets.target(name)
        folder = self._path(self._folders[name])
        copied: list[CopiedFile] = []
        for file in joint.files:
            source, target = f"{name}/{file.name}", f"{self._folders[name]}/{file.name}"
            writer = self._writers.member(file)
            if writer is None:
                self.omitted.append(OmittedFile(source, NO_WRITER, is_recording=True))
                continue
            quality = QualityReport()
            try:
                path = self._write(target, writer(quality), file.is_packed)
            except _UnreadableError as error:
                self.omitted.append(OmittedFile(source, str(error), is_recording=True))
                continue
            copied.append(CopiedFile(source, target, path.stat().st_size, _notes(quality)))
        location = replace(joint.location, url=str(folder), path=str(folder), root=None)
        reason = self._difference(joint.location, location) if copied else ""
        if reason:
            for each in copied:
                self._path(each.target).unlink()
            _remove_empty_folders(folder)
            self.omitted.append(OmittedFile(joint.name, reason, is_recording=True))
        else:
            self.files += copied

    def _difference(self, original: Location, copy: Location) -> str:
        """Why a copy does not have the figures of its original; empty if it has them, or if those
        that follow from shapes are to go."""
        try:
            traces = [opened_trace(each) for each in (original, copy)]
            lost = None
            if not self._options.removes_shapes:
                lost = first_difference(traces[:1], traces[1:])
        except UNREADABLE as error:
            return str(error)
        if not lost:
            return ""
        cause = HASHED_WORDS if self._options.hashes_names else ""
        return f"Its copy would give other figures: {lost}.{cause}"

    def _convert(self, name: str, location: Location, label: str, targets: FileNames) -> None:
        """Write a recording as Chrome JSON, if that has the same figures."""
        stem = name.removesuffix(PACKED)
        target = targets.target(f"{stem.rpartition('.')[0] or stem}{ENDING}")
        try:
            trace = opened_trace(location)
            self._learned.learn(exported(trace))
            pieces = self._writers.chrome(exported(trace), QualityReport())
            path = self._write(target, pieces, is_packed=True)
            copy = decompressed(read_chunks(open_location(str(path))))
            lost = lost_figures(trace, copy, target)
        except (_UnreadableError, *UNREADABLE) as error:
            self.omitted.append(OmittedFile(name, str(error), is_recording=True))
            return
        if lost is not None:
            path.unlink()
            reason = (
                f"Recordings of {label} cannot be rewritten, and Chrome JSON would give other "
                f"figures: {lost}."
            )
            self.omitted.append(OmittedFile(name, reason, is_recording=True))
            return
        self._add(name, target, path, ("written as Chrome JSON, with the same figures",))

    def _add(self, name: str, target: str, path: Path, notes: tuple[str, ...]) -> None:
        recorded_s = recording_time_s(target)
        if recorded_s is not None:
            self._remaining.add_date(f"{recorded_s:.0f} s since 1970, in the name of a file")
        shown = path.name if self._is_single else target
        self.files.append(CopiedFile(name, shown, path.stat().st_size, notes))

    def _path(self, target: str) -> Path:
        if self._is_single:
            return single_target(self._target, target)
        return Path(self._target, *target.split("/"))

    def _write(self, target: str, pieces: Iterable[bytes], is_packed: bool) -> Path:
        """Write a file at once: it is there whole or not at all.

        Raises:
            _UnreadableError: the original cannot be read.
            OSError: the copy cannot be written.
        """
        path = self._path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.parent / f".{secrets.token_hex(8)}.tmp"
        merged = _merged(_readable(pieces))
        try:
            with unfinished.open("xb") as file:
                file.writelines(_packed(merged) if is_packed else merged)
            unfinished.rename(path)
        finally:
            unfinished.unlink(missing_ok=True)
        return path


def _notes(quality: QualityReport) -> tuple[str, ...]:
    return tuple(f"{code.replace('_', ' ')}: {count}" for code, count in quality.counts.items())


def _problem(original: Location) -> str:
    """Why importers refuse a recording; empty if they read it."""
    try:
        opened_trace(original)
    except UNREADABLE as error:
        return str(error)
    return ""


def _remove_empty_folders(folder: Path) -> None:
    """Remove the folders without files, which other recordings may have in common with this."""
    for path in [*sorted(folder.rglob("*"), reverse=True), folder]:
        with suppress(OSError):  # it is a file, or not empty
            path.rmdir()


class _UnreadableError(Exception):
    """The original cannot be read; the text says why."""


def _readable(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, with what may be wrong with the original as one error: errors of the file that
    is written are others."""
    try:
        yield from pieces
    except LoadingError as error:
        raise _UnreadableError(error.problem.message) from error
    except (TraceFormatError, StorageError) as error:
        raise _UnreadableError(error.message) from error
    except UnpackLimitError as error:
        raise _UnreadableError(f"It {error.reason} {error.hint}") from error
    except (OSError, RecursionError) as error:
        raise _UnreadableError(f"It cannot be read: {error}.") from error


def _merged(pieces: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= MANY_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WBITS)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()
