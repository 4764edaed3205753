"""Processes that start while the command line still loads its own modules.

Only the standard library is imported here. A process takes about as long to start as the program
itself: the two go side by side. For one large file helpers are started, which read pieces of it,
for a folder with several traces workers, which parse whole files.
"""

from __future__ import annotations

import importlib
import os
import pickle
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from torch_tb_profiler.loading.processes.executors import LocalExecutor

AHEAD = 2
"""Pieces given to a helper at once: one is read while the next travels."""

MOST_HELPERS = 3
"""One thread cuts and joins the pieces; it cannot keep more helpers busy."""

MOST_WORKERS = 16
"""More processes would wait for the disk and for whoever hands their tables on."""

LARGE_BYTES = 64 << 20
"""Text from which reading in pieces pays."""

EARLY_PIECES = 12
"""Pieces that a helper reads while the command line loads its modules."""

_GZIPPED_LARGE_BYTES = LARGE_BYTES // 10
_PREPARE_HELPER = "import torch_tb_profiler.importers.kineto.reader"
_PREPARE_WORKER = "import torch_tb_profiler.loading.ingest.rank"
_MOST_LOOKED_AT = 1000
_MOST_FOLDERS = 20
"""So many entries of a folder, and folders in it, are looked at for several traces: it may lie on
a slow disk."""

PieceNumber = tuple[str, int]
"""Path of a file and number of a piece of it, from zero."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """Processes that read pieces.

    Attributes:
        executor: The processes.
        early: What they were already asked for: a piece and its batch, by its number.
    """

    executor: LocalExecutor
    early: dict[PieceNumber, Future[Any]] = field(default_factory=dict)


_started: list[Helpers] = []
_workers: list[LocalExecutor] = []


def take_helpers(helpers: int) -> Helpers:
    """So many helpers: those that were started early, if there are any."""
    if _started and _started[-1].executor.workers == max(1, helpers):
        return _started.pop()
    return Helpers(LocalExecutor(max(1, helpers), ahead=AHEAD))


def start_helpers(paths: Sequence[str], cores: int) -> None:
    """Start helpers now if one of ``paths`` is a large file on this machine."""
    count = min(cores - 1, MOST_HELPERS)
    large = next(filter(_is_large, paths), None)
    if count <= 0 or large is None:
        return
    helpers = Helpers(LocalExecutor(count, ahead=AHEAD))
    for _ in range(count):
        helpers.executor.submit(exec, _PREPARE_HELPER)
    if not large.endswith(".gz"):
        path = os.path.abspath(large)
        first = EARLY_PIECES * count
        for number in range(first):
            future = helpers.executor.submit(read_early, path, number, first)
            helpers.early[path, number] = future
    _started.append(helpers)


def take_workers(workers: int) -> LocalExecutor:
    """So many worker processes: those that were started early, if there are any."""
    if _workers and _workers[-1].workers == workers:
        return _workers.pop()
    return LocalExecutor(workers)


def start_workers(paths: Sequence[str], count: int) -> None:
    """Start worker processes now if one of ``paths`` is a folder of this machine with several
    traces in it or in the folders below."""
    if count > 0 and any(map(_holds_several, paths)):
        executor = LocalExecutor(count)
        for _ in range(count):
            executor.submit(exec, _PREPARE_WORKER)
        _workers.append(executor)


def _holds_several(path: str) -> bool:
    try:
        with os.scandir(path) as entries:
            looked_at = list(islice(entries, _MOST_LOOKED_AT))
        folders = [entry.path for entry in looked_at if entry.is_dir()][:_MOST_FOLDERS]
        names = chain((entry.name for entry in looked_at), *map(os.listdir, folders))
        traces = (name for name in names if name.endswith((".json", ".json.gz")))
        return len(list(islice(traces, 2))) > 1
    except OSError:
        return False


def read_early(path: str, number: int, count: int) -> bytes:
    """In a helper: one of the first ``count`` pieces of a file, and its batch, pickled.

    As bytes, because whoever asked is still loading its modules: taking the answer apart in the
    thread that receives it would load some of them at the same time, and each wait for the other.

    Raises:
        OSError: the file cannot be read.
        LookupError: it has no such piece, or is no plain text.
    """
    reader = importlib.import_module("torch_tb_profiler.importers.kineto.reader")
    return pickle.dumps(reader.read_early_piece(path, number, count), pickle.HIGHEST_PROTOCOL)


def _is_large(path: str) -> bool:
    least = _GZIPPED_LARGE_BYTES if path.endswith(".gz") else LARGE_BYTES
    try:
        return os.path.isfile(path) and os.path.getsize(path) >= least
    except OSError:
        return False
