"""Raw chunks of a file → decompressed chunks, whatever the file is called.

Gzip is recognised by its bytes. A stream that ends early or is damaged gives what stands before
the damage; the kind of damage is told, not raised.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from queue import Full, Queue
from typing import Any, cast

from isal import isal_zlib

GZIP_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub declares an instance
GZIP_MAGIC = b"\x1f\x8b"
OUTPUT_BYTES = 1 << 20
"""Most bytes given out at once, so that memory does not follow the compression ratio."""


def decompressed(
    chunks: Iterable[bytes], on_issue: Callable[[str], None] | None = None
) -> Iterator[bytes]:
    """Give the file's bytes decompressed, in bounded pieces.

    Args:
        chunks: The raw bytes of one file, in pieces of any size.
        on_issue: Told ``"gzip_truncated"`` or ``"gzip_corrupt"``, at most once.
    """
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= len(GZIP_MAGIC):
            break
    if head.startswith(GZIP_MAGIC):
        yield from _gunzipped(head, source, on_issue or (lambda _: None))
        return
    if head:
        yield head
    for chunk in source:
        if chunk:
            yield chunk


def _gunzipped(
    head: bytes, source: Iterator[bytes], on_issue: Callable[[str], None]
) -> Iterator[bytes]:
    stream = isal_zlib.decompressobj(wbits=31)
    pending = head
    while True:
        if not pending:
            pending = next(source, b"")
            if not pending:
                break
        try:
            piece = stream.decompress(pending, OUTPUT_BYTES)
        except GZIP_ERROR:
            on_issue("gzip_corrupt")
            return
        if piece:
            yield piece
        pending = stream.unconsumed_tail
        if stream.eof:
            pending = stream.unused_data.lstrip(b"\0") or next(source, b"").lstrip(b"\0")
            if not pending:
                return
            if not pending.startswith(GZIP_MAGIC[: len(pending)]):
                on_issue("gzip_corrupt")
                return
            stream = isal_zlib.decompressobj(wbits=31)
    on_issue("gzip_truncated")


_END = object()


def in_background(pieces: Iterable[bytes], depth: int = 16) -> Generator[bytes, None, None]:
    """Draw from ``pieces`` in a thread, at most ``depth`` ahead; errors are raised here.

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
        except BaseException as error:  # handed to the reader, which raises it
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
