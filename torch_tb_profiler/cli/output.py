"""Where answers are written: stdout, or whole files of a folder."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, tell_error
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.requests.errors import RequestError


class Output:
    """stdout, or files in a folder that is made when the first one is written.

    Attributes:
        folder: The folder, None for stdout.
    """

    def __init__(self, folder: str | None, *, may_replace: bool) -> None:
        self.folder = Path(folder) if folder else None
        self._may_replace = may_replace

    def refuse_existing(self, names: Iterable[str]) -> None:
        """Look whether any file that is to be written is there already.

        Raises:
            RequestError: it is, and may not be replaced.
        """
        if self.folder is None or self._may_replace:
            return
        for name in names:
            if os.path.lexists(self.folder / name):
                raise _exists(self.folder / name)

    def write(self, name: str, data: bytes) -> None:
        """Write ``data`` to stdout, or to the file ``name`` of the folder, and say so on stderr.

        A file appears whole or not at all.

        Raises:
            RequestError: it is there and may not be replaced.
            OSError: it cannot be written; nothing of it is left.
        """
        if self.folder is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        unfinished = self.folder / f".{secrets.token_hex(8)}.tmp"
        try:
            unfinished.write_bytes(data)
            if self._may_replace:
                unfinished.replace(path)
            else:
                _give_name(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
        print(visible(str(path)), file=sys.stderr)


def _give_name(file: Path, path: Path) -> None:
    """Give ``file`` the name ``path`` that nothing may have; a second name does that in one step.

    Raises:
        RequestError: something has that name.
        OSError: the name cannot be given.
    """
    with suppress(OSError):
        path.hardlink_to(file)
        return
    if os.path.lexists(path):
        raise _exists(path)
    file.replace(path)  # the file system has no second names


def _exists(path: Path) -> RequestError:
    return RequestError(
        "file_exists",
        f"{path} exists and is not overwritten.",
        "Choose another folder with --output, or replace what is there with --force.",
    )


@dataclass
class Written:
    """How the writing of files went: an exit code."""

    code: int = DONE


@contextmanager
def writing_errors(folder: str | None) -> Iterator[Written]:
    """Tell why files cannot be written into ``folder``; a closed pipe is somebody else's matter."""
    written = Written()
    try:
        yield written
    except RequestError as error:
        tell_error(error.problem.message, error.problem.hint)
        written.code = BAD_USAGE
    except OSError as error:
        if isinstance(error, BrokenPipeError) or folder is None:
            raise
        tell_error(
            f"{folder} cannot be written: {error.strerror}.", "Choose another folder with --output."
        )
        written.code = BAD_USAGE
