"""A sliding window over a stream of opcodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_tb_profiler.importers.plain_pickle.opcodes import FRAME

STEP_BYTES = 16 << 20
"""Size of the window after the current offset, if the stream has as much."""

_PROTO_BYTES = 2
_HEAD_BYTES = 9


def unframed(chunks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """Remove the FRAME opcodes of a pickle.

    They occur wherever a frame ends, often within an entry, and only matter for reading frame by
    frame. After a frame that is not followed by another one, the stream is left unchanged.
    """
    frame_bytes = _PROTO_BYTES
    is_framed = True
    rest = b""
    for chunk in chunks:
        data = rest + chunk if rest else chunk
        view, at, rest = memoryview(data), 0, b""
        while is_framed and frame_bytes < len(data) - at:
            if frame_bytes:
                yield view[at : at + frame_bytes]
            at += frame_bytes
            frame_bytes = 0
            is_framed = data[at] == FRAME
            if is_framed and len(data) - at < _HEAD_BYTES:
                rest = data[at:]
                break
            if is_framed:
                frame_bytes = int.from_bytes(view[at + 1 : at + _HEAD_BYTES], "little")
                at += _HEAD_BYTES
        else:
            yield view[at:]
            frame_bytes -= len(data) - at
    yield rest


class StreamWindow:
    """The part of a stream that is in memory.

    Attributes:
        data: Its bytes.
        is_whole: Whether it reaches the end of the stream.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = unframed(chunks)
        self.data = b""
        self.is_whole = False

    def forward(self, at: int, min_bytes: int = STEP_BYTES) -> None:
        """Move the window to start at ``at``, with at least ``min_bytes`` if the stream has them.

        Raises:
            StorageError, OSError: the stream cannot be read.
        """
        parts: list[bytes | memoryview] = [self.data[at:]]
        size = len(parts[0])
        while size < min_bytes:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.is_whole = True
                break
            parts.append(chunk)
            size += len(chunk)
        self.data = b"".join(parts)
