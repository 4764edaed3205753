"""Helpers that start while the command line still loads its own modules.

Only the standard library is imported here. A helper takes about as long to start as the program
itself: for one large file the two go side by side.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from torch_tb_profiler.loading.executors import LocalExecutor

AHEAD = 2
"""Pieces given to a helper at once: one is read while the next travels."""

MOST_HELPERS = 3
"""One thread cuts and joins the pieces; it cannot keep more helpers busy."""

LARGE_BYTES = 64 << 20
"""Text from which reading in pieces pays."""

_GZIPPED_LARGE_BYTES = LARGE_BYTES // 10
_PREPARE = "import torch_tb_profiler.importers.kineto.reader"

_started: list[LocalExecutor] = []


def helper_executor(helpers: int) -> LocalExecutor:
    """The executor for pieces: the one that was started early, if there is one."""
    if _started and _started[-1].workers == max(1, helpers):
        return _started.pop()
    return LocalExecutor(max(1, helpers), ahead=AHEAD)


def start_helpers(paths: Sequence[str], cores: int) -> None:
    """Start helpers now if one of ``paths`` is a large file on this machine."""
    helpers = min(cores - 1, MOST_HELPERS)
    if helpers > 0 and any(map(_is_large, paths)):
        executor = LocalExecutor(helpers, ahead=AHEAD)
        for _ in range(helpers):
            executor.submit(exec, _PREPARE)
        _started.append(executor)


def _is_large(path: str) -> bool:
    least = _GZIPPED_LARGE_BYTES if path.endswith(".gz") else LARGE_BYTES
    try:
        return os.path.isfile(path) and os.path.getsize(path) >= least
    except OSError:
        return False
