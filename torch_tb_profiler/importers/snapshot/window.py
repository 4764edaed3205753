"""A stream of opcodes, of which a stretch is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_tb_profiler.importers.snapshot.opcodes import FRAME

STEP_BYTES = 16 << 20
"""So much is there behind the place that is read, where the stream has as much."""

_PROTO_BYTES = 2
_HEAD_BYTES = 9


def unframed(chunks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """A pickle without its FRAME opcodes. They stand where a frame ends, wherever that is, often
    in the middle of an entry; what they tell is only for those who read a frame at a time.

    From where a frame is not followed by another the stream is left as it is: such an opcode is
    then one like others.
    """
    before = _PROTO_BYTES
    is_framed = True
    rest = b""
    for chunk in chunks:
        data = rest + chunk if rest else chunk
        view, at, rest = memoryview(data), 0, b""
        while is_framed and before < len(data) - at:
            yield view[at : at + before]
            at += before
            before = 0
            is_framed = data[at] == FRAME
            if is_framed and len(data) - at < _HEAD_BYTES:
                rest = data[at:]
                break
            if is_framed:
                before = int.from_bytes(view[at + 1 : at + _HEAD_BYTES], "little")
                at += _HEAD_BYTES
        else:
            yield view[at:]
            before -= len(data) - at
    yield rest


class StreamWindow:
    """The stretch of a stream that is being read.

    Attributes:
        data: Its bytes.
        is_whole: Whether nothing follows it in the stream.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = unframed(chunks)
        self.data = b""
        self.is_whole = False

    def forward(self, at: int, wanted_bytes: int = STEP_BYTES) -> None:
        """Let the stretch begin at ``at`` of this one and hold so many bytes, or all there are.

        Raises:
            StorageError, OSError: the stream cannot be read.
        """
        parts: list[bytes | memoryview] = [self.data[at:]]
        size = len(parts[0])
        while size < wanted_bytes:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.is_whole = True
                break
            parts.append(chunk)
            size += len(chunk)
        self.data = b"".join(parts)
