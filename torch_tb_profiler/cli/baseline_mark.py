"""The run that comparisons of a log directory have as their baseline, marked on the command line.

Marks are in the cache folder, one file for all log directories: the folder that a baseline lies in
→ the baseline. A candidate has the mark of the nearest folder above it.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import is_url

FILE = "baselines.json"
HINT = "Name two traces, or mark one: torch-tb-profiler compare BASELINE --mark-baseline."


def mark_baseline(cache: CacheFolder | None, baseline: str) -> str:
    """Mark a baseline for its log directory, which is returned.

    Raises:
        RequestError: there is no cache folder, or it cannot be written.
    """
    if cache is None:
        raise RequestError("bad_parameter", "--mark-baseline needs the cache folder.")
    path = _absolute(baseline)
    folder = _parent(path)
    try:
        cache.root.mkdir(parents=True, exist_ok=True)
        (cache.root / FILE).write_bytes(msgspec.json.encode({**_marks(cache), folder: path}))
    except OSError as error:
        message = f"The mark cannot be written to {cache.root}: {error.strerror}."
        raise RequestError("bad_parameter", message) from error
    return folder


def marked_baseline(cache: CacheFolder | None, candidate: str) -> str:
    """The baseline that is marked for the log directory of a candidate.

    Raises:
        RequestError: none is.
    """
    marks = {} if cache is None else _marks(cache)
    path = _absolute(candidate)
    folder, below = _parent(path), path
    while folder != below:
        if marks.get(folder, path) != path:
            return marks[folder]
        folder, below = _parent(folder), folder
    raise RequestError("bad_parameter", f"No baseline is marked for {candidate}.", HINT)


def _marks(cache: CacheFolder) -> dict[str, str]:
    """All marks; none where the file is missing or damaged."""
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((cache.root / FILE).read_bytes(), type=dict[str, str])
    return {}


def _absolute(path: str) -> str:
    return path.rstrip("/") if is_url(path) else os.path.abspath(os.path.expanduser(path))


def _parent(path: str) -> str:
    return path.rpartition("/")[0] if is_url(path) else os.path.dirname(path)
