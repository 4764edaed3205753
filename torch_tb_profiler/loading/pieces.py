"""One large file in several pieces at once: some in worker processes, some here."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress

from torch_tb_profiler.importers.kineto.batch import Batch
from torch_tb_profiler.importers.kineto.cuts import Cuts
from torch_tb_profiler.importers.kineto.pieces import Piece
from torch_tb_profiler.importers.kineto.reader import PieceReader, read_piece
from torch_tb_profiler.loading.early import AHEAD
from torch_tb_profiler.loading.executors import LocalExecutor

WINDOW = 32
"""Pieces that may be read before their turn: covers the start of the workers, and bounds memory."""

_Pending = tuple[Piece, "Future[Batch] | Batch"]


def read_with(executor: Executor, workers: int) -> PieceReader:
    """A reader that shares the pieces between ``workers`` workers of ``executor`` and this thread.

    Nothing is lost with a worker: what it was given is read here.
    """

    def read_pieces(pieces: Iterator[Piece], cuts: Cuts) -> Iterator[tuple[Piece, Batch]]:
        pending: deque[_Pending] = deque()
        try:
            while True:
                given = sum(isinstance(r, Future) and not r.done() for _, r in pending)
                for piece in _some(pieces, AHEAD * workers - given):
                    pending.append((piece, executor.submit(read_piece, piece, cuts)))
                if not pending:
                    return
                is_due = len(pending) >= WINDOW or _is_done(pending[0])
                if not is_due:
                    own = next(pieces, None)
                    if own is not None:
                        pending.append((own, read_piece(own, cuts)))
                        continue
                yield _settled(pending.popleft(), cuts)
        finally:
            for _, result in pending:
                if isinstance(result, Future):
                    result.cancel()
            if isinstance(executor, LocalExecutor):
                executor.rest()  # the memory of the helpers is needed for what comes next

    return read_pieces


def _some(pieces: Iterator[Piece], count: int) -> Iterator[Piece]:
    for _ in range(count):
        piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _is_done(pending: _Pending) -> bool:
    result = pending[1]
    return not isinstance(result, Future) or result.done()


def _settled(pending: _Pending, cuts: Cuts) -> tuple[Piece, Batch]:
    piece, result = pending
    if not isinstance(result, Future):
        return piece, result
    with suppress(Exception):
        return piece, result.result()
    return piece, read_piece(piece, cuts)
