"""Read one large file in several pieces at once: some in worker processes or threads, some in this
thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

from torch_tb_profiler.importers import PieceReader
from torch_tb_profiler.loading.processes.executors import LocalExecutor

AHEAD = 2
"""Pieces sent to a worker at once: one is read while the next is in transit."""

MAX_HELPERS = 3
"""One thread splits the file and joins the pieces; it cannot keep more workers busy."""

WINDOW = 32
"""Pieces that may be read ahead of their turn: covers the start of the workers, and bounds
memory."""

P = TypeVar("P")
R = TypeVar("R")


def shared_reader(executor: Executor, workers: int) -> PieceReader:
    """A reader that splits the pieces between ``workers`` workers of ``executor`` and this thread.

    Nothing is lost with a worker: its pieces are read here.

    Args:
        executor: Reads pieces that hold the interpreter's lock; others are read by threads.
        workers: Number of tasks that run at once.
    """

    def read_pieces(
        pieces: Iterator[P], read_piece: Callable[[P], R], /, *, in_threads: bool = False
    ) -> Iterator[tuple[P, R]]:
        if in_threads:
            return _read_in_threads(workers, pieces, read_piece)
        return _SharedReading(executor, workers, read_piece).read(pieces)

    return read_pieces


def _read_in_threads(
    workers: int, pieces: Iterator[P], read_piece: Callable[[P], R]
) -> Iterator[tuple[P, R]]:
    with ThreadPoolExecutor(workers, "pieces") as threads:
        yield from _SharedReading(threads, workers, read_piece).read(pieces)


class _SharedReading(Generic[P, R]):
    """The pieces of one file that are read or in progress, in order."""

    def __init__(self, executor: Executor, workers: int, read_piece: Callable[[P], R]) -> None:
        self.executor = executor
        self.max_in_flight = AHEAD * workers
        self.read_piece = read_piece
        self.pending: deque[tuple[P, Future[R]]] = deque()

    def read(self, pieces: Iterator[P]) -> Iterator[tuple[P, R]]:
        try:
            while True:
                self._submit_pieces(pieces)
                if not self.pending:
                    return
                is_due = len(self.pending) >= WINDOW or self.pending[0][1].done()
                if is_due or not self._read_one(pieces):
                    yield self._result_of(*self.pending.popleft())
        finally:
            for _, result in self.pending:
                result.cancel()
            if isinstance(self.executor, LocalExecutor):
                self.executor.retire_workers()  # building the trace needs their memory

    def _submit_pieces(self, pieces: Iterator[P]) -> None:
        """Keep the workers busy."""
        in_flight = sum(not result.done() for _, result in self.pending)
        while in_flight < self.max_in_flight:
            try:
                piece = next(pieces)
            except StopIteration:
                return
            self.pending.append((piece, self.executor.submit(self.read_piece, piece)))
            in_flight += 1

    def _read_one(self, pieces: Iterator[P]) -> bool:
        """Read a piece in this thread; False if there is none left."""
        try:
            piece = next(pieces)
        except StopIteration:
            return False
        result: Future[R] = Future()
        result.set_result(self.read_piece(piece))
        self.pending.append((piece, result))
        return True

    def _result_of(self, piece: P, result: Future[R]) -> tuple[P, R]:
        with suppress(Exception):
            if not result.cancel():
                return piece, result.result()
        return piece, self.read_piece(piece)
