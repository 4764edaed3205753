"""Answers about a whole trace that are stored beside it in the cache folder.

Opening a cached trace takes less time than the first views of it. What took long to compute is
stored under the key of the trace, and everything else that it depends on: the program (each of its
files, numpy and polars) and the user's rules. Answers stay in the local folder and are evicted with
the rest; a damaged one is removed and computed again. Sidecar files are no part of the key: where a
trace has some, nothing is stored.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.knowledge.user_rules import UserRules
from torch_tb_profiler.loading.opening.open_file import store_later, trace_key
from torch_tb_profiler.once import once
from torch_tb_profiler.safe_path import PACKAGE_FOLDER
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import FileState, Location
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_BYTES = 8 << 20
"""Longer answers are not stored: they would push out traces."""

_FILE = "answer"
_NOT_CODE = frozenset({"__pycache__", "static"})

T = TypeVar("T")


class StoredAnswers(Struct, frozen=True):
    """The answers that are stored of one trace.

    Attributes:
        cache: Where its file's trace is stored.
        location: Its file.
        state: The state of the file that it was made from.
        rules: The user's rules that it follows.
    """

    cache: CacheFolder
    location: Location
    state: FileState
    rules: UserRules

    def load(self, name: str, read: Callable[[bytes], T]) -> T | None:
        """What ``read`` makes of an answer; None if it is not stored, or if ``read`` fails."""
        key = self._key(name)
        if not self.cache.has_local(key):
            return None
        return self.cache.load(key, lambda folder: read((folder / _FILE).read_bytes()))

    def store(self, name: str, make: Callable[[], bytes]) -> None:
        """Store an answer, after it was given: ``make`` is called in the background."""
        local = CacheFolder(self.cache.root, max_bytes=self.cache.max_bytes)

        def write() -> None:
            if not local.has_local(trace_key(self.location, self.state)):
                return  # no space, no permission: it was said of the trace
            data = make()
            if len(data) <= MAX_BYTES:
                local.store(self._key(name), lambda folder: (folder / _FILE).write_bytes(data))

        store_later(write, f"the answer {name} about {self.location.url}")

    def _key(self, name: str) -> str:
        part = f"/answer {name} by {program_version()} rules {self.rules.version}"
        return trace_key(self.location, self.state, part)


@per_trace
def stored_answers(trace: Trace) -> StoredAnswers | None:  # noqa: ARG001 - provided by who opens it
    """The answers that are stored of a trace; None where none are."""
    return None


@once
def program_version() -> str:
    """Differs whenever the program may answer otherwise, also between two states of its source."""
    digest = hashlib.sha256(f"{sys.version} {np.__version__} {pl.__version__}".encode())
    for line in sorted(_files(Path(PACKAGE_FOLDER) / "torch_tb_profiler")):
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files(folder: Path | str) -> Iterator[str]:
    """Path, size and change time of the files of the program; of one that is gone meanwhile, as an
    editor's, nothing."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name not in _NOT_CODE:
                    yield from _files(entry.path)
                continue
            with suppress(FileNotFoundError):
                state = entry.stat()
                yield f"{entry.path} {state.st_size} {state.st_mtime_ns}\n"
