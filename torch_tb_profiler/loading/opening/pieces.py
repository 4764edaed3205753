"""One large file in several pieces at once: some in worker processes, some here."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress

from torch_tb_profiler.importers.kineto.batch import Batch
from torch_tb_profiler.importers.kineto.cuts import Cuts
from torch_tb_profiler.importers.kineto.reader import AnyPiece, PieceReader, read_piece
from torch_tb_profiler.loading.processes.executors import LocalExecutor

AHEAD = 2
"""Pieces given to a helper at once: one is read while the next travels."""

MOST_HELPERS = 3
"""One thread cuts and joins the pieces; it cannot keep more helpers busy."""

WINDOW = 32
"""Pieces that may be read before their turn: covers the start of the workers, and bounds memory."""

Result = Future[Batch] | Batch


def read_with(executor: Executor, workers: int) -> PieceReader:
    """A reader that shares the pieces between ``workers`` workers of ``executor`` and this thread.

    Nothing is lost with a worker: what it was given is read here.

    Args:
        executor: Performs :func:`read_piece`.
        workers: How many tasks it works on at once.
    """

    def read_pieces(pieces: Iterator[AnyPiece], cuts: Cuts) -> Iterator[tuple[AnyPiece, Batch]]:
        return _Shared(executor, workers, cuts).read(pieces)

    return read_pieces


class _Shared:
    """One file's pieces: those that are read, or being read, in order."""

    def __init__(self, executor: Executor, workers: int, cuts: Cuts) -> None:
        self.executor = executor
        self.most_given = AHEAD * workers
        self.cuts = cuts
        self.pending: deque[tuple[AnyPiece, Result]] = deque()

    def read(self, pieces: Iterator[AnyPiece]) -> Iterator[tuple[AnyPiece, Batch]]:
        try:
            while True:
                self._give(pieces)
                if not self.pending:
                    return
                is_due = len(self.pending) >= WINDOW or _is_done(self.pending[0][1])
                if is_due or not self._read_one(pieces):
                    yield self._settled(*self.pending.popleft())
        finally:
            for _, result in self.pending:
                if isinstance(result, Future):
                    result.cancel()
            if isinstance(self.executor, LocalExecutor):
                self.executor.rest()  # the memory of the helpers is needed for what comes next

    def _give(self, pieces: Iterator[AnyPiece]) -> None:
        """Keep the workers busy."""
        given = sum(not _is_done(result) for _, result in self.pending)
        while given < self.most_given and (piece := next(pieces, None)) is not None:
            self.pending.append((piece, self.executor.submit(read_piece, piece, self.cuts)))
            given += 1

    def _read_one(self, pieces: Iterator[AnyPiece]) -> bool:
        """Read a piece here; False when there is none left."""
        piece = next(pieces, None)
        if piece is None:
            return False
        self.pending.append((piece, read_piece(piece, self.cuts)))
        return True

    def _settled(self, piece: AnyPiece, result: Result) -> tuple[AnyPiece, Batch]:
        if not isinstance(result, Future):
            return piece, result
        with suppress(Exception):
            if not result.cancel():
                return piece, result.result()
        return piece, read_piece(piece, self.cuts)


def _is_done(result: Result) -> bool:
    return not isinstance(result, Future) or result.done()
