"""Writes answers to stdout, into one file, or as files into a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, print_error
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.requests.errors import RequestError


class Output:
    """Stdout, one file, or a folder that is created when the first file is written.

    Attributes:
        folder: The folder; None for stdout.
        file: Name of the only file in it, which holds everything; None for a file per answer.
    """

    def __init__(
        self,
        folder: str | None,
        *,
        may_replace: bool,
        names_files: bool = True,
        file: str | None = None,
    ) -> None:
        self.folder = Path(folder) if folder else None
        self.file = file
        self._may_replace = may_replace
        self._names_files = names_files
        self._pieces: list[bytes] = []

    @property
    def is_joined(self) -> bool:
        """Whether all answers follow each other: on stdout, or in one file."""
        return self.folder is None or self.file is not None

    def refuse_existing(self, names: Iterable[str]) -> None:
        """Check that no file to be written exists already.

        Raises:
            RequestError: one exists and may not be replaced.
        """
        if self.folder is None or self._may_replace:
            return
        for name in names if self.file is None else (self.file,):
            if os.path.lexists(self.folder / name):
                raise _exists(self.folder / name)

    def refuse_unwritable(self) -> None:
        """Check, without creating anything, that the folder can be created and written to.

        Raises:
            RequestError: what is there of its path is no folder, or is not writable.
        """
        if self.folder is None:
            return
        there = next(path for path in (self.folder, *self.folder.parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            why = "is not writable" if there.is_dir() else "is not a folder"
            message = f"{self.folder} cannot be written: {there} {why}."
            raise RequestError("unwritable", message, "Choose another folder with --output.")

    def write(self, name: str, data: bytes) -> None:
        """Write ``data`` to stdout, or atomically to the file ``name`` in the folder; the path is
        printed on stderr unless files are not to be named. What goes into one file is written by
        :meth:`close`.

        Raises:
            RequestError: the file exists and may not be replaced.
            OSError: it cannot be written; no partial file remains.
        """
        if self.folder is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        elif self.file is not None:
            self._pieces.append(data)
        else:
            self._write(self.folder, name, [data])

    def stream(self, pieces: Iterable[bytes]) -> None:
        """Write pieces while they are made, to stdout or atomically to the one file.

        Raises:
            RequestError: the file exists and may not be replaced.
            OSError: it cannot be written; no partial file remains.
        """
        if self.folder is not None and self.file is not None:
            self._write(self.folder, self.file, pieces)
            return
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece)

    def close(self) -> None:
        """Write the one file, unless there is nothing for it.

        Raises:
            RequestError: it exists and may not be replaced.
            OSError: it cannot be written; no partial file remains.
        """
        if self.folder is not None and self.file is not None and self._pieces:
            self._write(self.folder, self.file, self._pieces)
            self._pieces.clear()

    def _write(self, folder: Path, name: str, pieces: Iterable[bytes]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        unfinished = folder / f".{os.urandom(8).hex()}.tmp"
        try:
            with unfinished.open("wb") as file:
                file.writelines(pieces)
            if self._may_replace:
                unfinished.replace(path)
            else:
                _give_name(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
        if self._names_files:
            print(visible(str(path)), file=sys.stderr)


SUFFIXES = {
    "table": ".txt",
    "md": ".md",
    "json": ".json",
    "csv": ".csv",
    "html": ".html",
    "xlsx": ".xlsx",
}
"""Format → how the names of its files end."""


def output_for(path: str | None, file_format: str, may_replace: bool) -> Output:
    """The output of a format: ``path`` is one file where it ends as the files of the format do and
    is no folder already, else a folder, or None for stdout."""
    if path is not None and path.lower().endswith(SUFFIXES[file_format]):
        named = Path(path)
        if not named.is_dir():
            return Output(str(named.parent), may_replace=may_replace, file=named.name)
    return Output(path, may_replace=may_replace)


def _give_name(file: Path, path: Path) -> None:
    """Rename ``file`` to ``path``, which must not exist; a hard link does both in one step.

    Raises:
        RequestError: ``path`` exists.
        OSError: renaming failed.
    """
    with suppress(OSError):
        path.hardlink_to(file)
        return
    if os.path.lexists(path):
        raise _exists(path)
    file.replace(path)  # the file system has no hard links


def _exists(path: Path) -> RequestError:
    return RequestError(
        "file_exists",
        f"{path} exists and is not overwritten.",
        "Choose another folder with --output, or overwrite it with --force.",
    )


class Written(Struct):
    """The exit code of writing files."""

    code: int = DONE


@contextmanager
def writing_errors(folder: str | None) -> Iterator[Written]:
    """Print why files cannot be written into ``folder``; a closed pipe is handled by the caller."""
    written = Written()
    try:
        yield written
    except RequestError as error:
        print_error(error.problem.message, error.problem.hint)
        written.code = BAD_USAGE
    except OSError as error:
        if isinstance(error, BrokenPipeError) or folder is None:
            raise
        print_error(
            f"{folder} cannot be written: {error.strerror}.", "Choose another folder with --output."
        )
        written.code = BAD_USAGE
