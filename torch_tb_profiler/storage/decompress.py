"""Decompress the raw chunks of a file, whatever its name.

Gzip is recognized by its first bytes. A truncated or damaged stream yields what precedes the
damage; the kind of damage is reported, not raised. A file that decompresses to far more than any
trace does is refused (:class:`UnpackLimits`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from queue import Full, Queue
from typing import Any, cast

from isal import isal_zlib
from msgspec import Struct

from torch_tb_profiler.budget import LIMITS
from torch_tb_profiler.storage.environment import positive_number

GZIP_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub declares an instance
GZIP_MAGIC = b"\x1f\x8b"
OUTPUT_BYTES = 1 << 20
"""Most bytes yielded at once, so that memory does not follow the compression ratio."""

MERGED_BYTES = 1 << 14
"""Smaller pieces are merged."""

MEMBER_BYTES = 1 << 12
"""Data after the first gzip member is fed in parts of this size: input beyond the end of a member,
which may be as short as one byte, is copied."""

RATIO_VARIABLE = "TORCH_TB_PROFILER_MAX_GZIP_RATIO"
SIZE_VARIABLE = "TORCH_TB_PROFILER_MAX_UNPACKED_GB"
_UNPACKED = LIMITS["unpacked_bytes"]
MAX_RATIO = _UNPACKED.per_byte
"""Traces decompress to 10 to 40 times their size; a decompression bomb to a thousand times."""
MAX_UNPACKED_GB = _UNPACKED.ceiling / 1e9
RATIO_FROM_BYTES = int(_UNPACKED.floor)
"""Less than this is harmless at any ratio."""


class UnpackLimitError(Exception):
    """A file decompresses to more than is allowed.

    Attributes:
        reason: Which limit it exceeds, to follow the file's name.
        hint: How to raise the limit.
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class UnpackLimits(Struct, frozen=True):
    """How far one file may decompress.

    Attributes:
        max_ratio: Decompressed bytes per compressed byte, from ``RATIO_FROM_BYTES`` on.
        max_bytes: Decompressed bytes altogether.
    """

    max_ratio: float = MAX_RATIO
    max_bytes: float = MAX_UNPACKED_GB * 1e9

    @classmethod
    def from_environment(cls) -> UnpackLimits:
        """The limits that the environment sets; anything but a positive number is ignored."""
        return cls(
            positive_number(RATIO_VARIABLE, MAX_RATIO),
            positive_number(SIZE_VARIABLE, MAX_UNPACKED_GB) * 1e9,
        )

    def check(self, packed_bytes: int, unpacked_bytes: int) -> None:
        """Check both limits.

        Raises:
            UnpackLimitError: a limit is exceeded.
        """
        if unpacked_bytes > self.max_bytes:
            raise UnpackLimitError(
                f"unpacks to more than {self.max_bytes / 1e9:g} GB.",
                f"If you trust the file, set {SIZE_VARIABLE} to a larger number.",
            )
        if unpacked_bytes > max(RATIO_FROM_BYTES, packed_bytes * self.max_ratio):
            raise UnpackLimitError(
                f"unpacks to more than {self.max_ratio:g} times its size, as no trace does.",
                f"If you trust the file, set {RATIO_VARIABLE} to a larger number (at most 1100).",
            )


def decompressed(
    chunks: Iterable[bytes],
    on_issue: Callable[[str], None] | None = None,
    limits: UnpackLimits | None = None,
) -> Iterator[bytes]:
    """Yield a file's bytes decompressed, in bounded pieces.

    Args:
        chunks: The raw bytes of one file, in pieces of any size.
        on_issue: Called with ``"gzip_truncated"`` or ``"gzip_corrupt"``, at most once.
        limits: How far the file may decompress; None for the limits of the environment.

    Raises:
        UnpackLimitError: it exceeds them.
    """
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= len(GZIP_MAGIC):
            break
    if head.startswith(GZIP_MAGIC):
        report_issue = on_issue or (lambda _: None)
        limits = limits or UnpackLimits.from_environment()
        yield from _merged(_gunzipped(head, source, report_issue, limits))
        return
    if head:
        yield head
    for chunk in source:
        if chunk:
            yield chunk


def _gunzipped(
    head: bytes, source: Iterator[bytes], on_issue: Callable[[str], None], limits: UnpackLimits
) -> Iterator[bytes]:
    stream = isal_zlib.decompressobj(wbits=31)
    pending = head
    packed_bytes = len(head)
    unpacked_bytes = 0
    is_first = True
    while True:
        if not pending:
            pending = next(source, b"")
            packed_bytes += len(pending)
            if not pending:
                break
        try:
            piece = stream.decompress(pending, OUTPUT_BYTES)
        except GZIP_ERROR:
            on_issue("gzip_corrupt")
            return
        if piece:
            unpacked_bytes += len(piece)
            limits.check(packed_bytes, unpacked_bytes)
            yield piece
        pending = stream.unconsumed_tail
        if stream.eof:
            pending = stream.unused_data.lstrip(b"\0")
            while not pending and (chunk := next(source, b"")):
                packed_bytes += len(chunk)
                pending = chunk.lstrip(b"\0")
            if not pending:
                return
            if not pending.startswith(GZIP_MAGIC[: len(pending)]):
                on_issue("gzip_corrupt")
                return
            if is_first:
                is_first = False
                packed_bytes -= len(pending)
                source, pending = _parts(pending, source), b""
            stream = isal_zlib.decompressobj(wbits=31)
    on_issue("gzip_truncated")


def _merged(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, with small ones merged: those of short members may be single bytes."""
    merged = bytearray()
    for piece in pieces:
        if not merged and len(piece) >= MERGED_BYTES:
            yield piece
            continue
        merged += piece
        if len(merged) >= MERGED_BYTES:
            yield bytes(merged)
            merged.clear()
    if merged:
        yield bytes(merged)


def _parts(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chain([first], others):
        for start in range(0, len(chunk), MEMBER_BYTES):
            yield chunk[start : start + MEMBER_BYTES]


_END = object()


def in_background(pieces: Iterable[bytes], depth: int = 16) -> Generator[bytes, None, None]:
    """Read ``pieces`` in a thread, at most ``depth`` ahead; errors are raised here.

    Decompression and reading release the interpreter lock, so they overlap with decoding.
    """
    queue: Queue[Any] = Queue(depth)
    stopped = threading.Event()

    def put(item: object) -> bool:
        while not stopped.is_set():
            try:
                queue.put(item, timeout=0.1)
            except Full:
                continue
            return True
        return False

    def draw() -> None:
        try:
            for piece in pieces:
                if not put(piece):
                    return
            put(_END)
        except BaseException as error:  # raised again in the reader's thread
            put(error)

    thread = threading.Thread(target=draw, name="decompress", daemon=True)
    thread.start()
    try:
        while (item := queue.get()) is not _END:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()
