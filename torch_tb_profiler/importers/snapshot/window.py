"""A stream of bytes, of which a stretch is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator

STEP_BYTES = 16 << 20
"""So much is there behind the place that is read, where the stream has as much."""


class Window:
    """The stretch of a stream that is being read.

    Attributes:
        data: Its bytes.
        is_whole: Whether nothing follows it in the stream.
        passed_bytes: What lies before it in the stream.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.data = b""
        self.is_whole = False
        self.passed_bytes = 0

    def forward(self, at: int, wanted_bytes: int = STEP_BYTES) -> None:
        """Let the stretch begin at ``at`` of this one and hold so many bytes, or all there are.

        Raises:
            StorageError, OSError: the stream cannot be read.
        """
        self.passed_bytes += at
        parts = [self.data[at:]]
        size = len(parts[0])
        while size < wanted_bytes:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.is_whole = True
                break
            parts.append(chunk)
            size += len(chunk)
        self.data = b"".join(parts)
