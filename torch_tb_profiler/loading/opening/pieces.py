"""One large file in several pieces at once: some in worker processes, some here."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

from torch_tb_profiler.importers.kineto.batch import Batch
from torch_tb_profiler.importers.kineto.cuts import Cuts
from torch_tb_profiler.importers.kineto.file_pieces import FilePiece
from torch_tb_profiler.importers.kineto.reader import AnyPiece, PieceReader, read_piece
from torch_tb_profiler.loading.processes.early import AHEAD, PieceNumber
from torch_tb_profiler.loading.processes.executors import LocalExecutor

WINDOW = 32
"""Pieces that may be read before their turn: covers the start of the workers, and bounds memory."""

Result = Future[Any] | Batch


def read_with(
    executor: Executor, workers: int, early: dict[PieceNumber, Future[Any]] | None = None
) -> PieceReader:
    """A reader that shares the pieces between ``workers`` workers of ``executor`` and this thread.

    Nothing is lost with a worker: what it was given is read here.

    Args:
        executor: Performs :func:`read_piece`.
        workers: How many tasks it works on at once.
        early: Pieces it was already asked for; those that are wanted are taken out.
    """

    def read_pieces(pieces: Iterator[AnyPiece], cuts: Cuts) -> Iterator[tuple[AnyPiece, Batch]]:
        asked = {} if early is None else early
        return _Shared(executor, workers, asked, cuts).read(pieces)

    return read_pieces


class _Shared:
    """One file's pieces: those that are read, or being read, in order."""

    def __init__(
        self,
        executor: Executor,
        workers: int,
        early: dict[PieceNumber, Future[Any]],
        cuts: Cuts,
    ) -> None:
        self.executor = executor
        self.most_given = AHEAD * workers
        self.early = early
        self.cuts = cuts
        self.pending: deque[tuple[AnyPiece, Result]] = deque()

    def read(self, pieces: Iterator[AnyPiece]) -> Iterator[tuple[AnyPiece, Batch]]:
        numbered = enumerate(pieces)
        try:
            while True:
                self._give(numbered)
                if not self.pending:
                    return
                is_due = len(self.pending) >= WINDOW or _is_done(self.pending[0][1])
                if is_due or not self._read_one(numbered):
                    yield self._settled(*self.pending.popleft())
        finally:
            for _, result in self.pending:
                if isinstance(result, Future):
                    result.cancel()
            if isinstance(self.executor, LocalExecutor):
                self.executor.rest()  # the memory of the helpers is needed for what comes next

    def _give(self, numbered: Iterator[tuple[int, AnyPiece]]) -> None:
        """Keep the workers busy."""
        given = sum(not _is_done(result) for _, result in self.pending)
        while given < self.most_given and (item := next(numbered, None)) is not None:
            result = self._asked_early(*item)
            if result is None:
                result = self.executor.submit(read_piece, item[1], self.cuts)
            self.pending.append((item[1], result))
            given += 1

    def _read_one(self, numbered: Iterator[tuple[int, AnyPiece]]) -> bool:
        """Read a piece here; False when there is none left."""
        for number, piece in numbered:
            asked = self._asked_early(number, piece)
            self.pending.append((piece, asked or read_piece(piece, self.cuts)))
            if asked is None:
                return True
        return False

    def _asked_early(self, number: int, piece: AnyPiece) -> Future[Any] | None:
        if not isinstance(piece, FilePiece):
            return None
        return self.early.pop((piece.path, number), None)

    def _settled(self, piece: AnyPiece, result: Result) -> tuple[AnyPiece, Batch]:
        if not isinstance(result, Future):
            return piece, result
        with suppress(Exception):
            if not result.cancel():
                answer = result.result()
                if isinstance(answer, Batch):
                    return piece, answer
                found, batch = pickle.loads(answer)
                if found == piece:
                    return piece, batch
        return piece, read_piece(piece, self.cuts)


def _is_done(result: Result) -> bool:
    return not isinstance(result, Future) or result.done()
