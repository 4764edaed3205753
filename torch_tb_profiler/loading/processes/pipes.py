"""Messages over pipes between processes."""

from __future__ import annotations

import sys
from typing import IO

PIPE_BYTES = 1 << 20
"""Enough for the answer to one piece of a trace, so that its writer seldom waits for the reader."""

_SIZE_BYTES = 8


def write_message(stream: IO[bytes], message: bytes) -> None:
    """Write bytes that the other end reads as one message.

    Raises:
        OSError: the other end is closed.
    """
    stream.write(len(message).to_bytes(_SIZE_BYTES, "little"))
    stream.write(message)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes:
    """The next message of :func:`write_message`; waits for it.

    Raises:
        EOFError: the stream ends before the message does.
        OSError: it cannot be read.
    """
    return _read(stream, int.from_bytes(_read(stream, _SIZE_BYTES), "little"))


def _read(stream: IO[bytes], size_bytes: int) -> bytes:
    data = stream.read(size_bytes)
    if len(data) < size_bytes:
        raise EOFError
    return data


if sys.platform == "linux":
    import fcntl

    def enlarge_pipe(pipe: IO[bytes] | None) -> None:
        """Enlarge the buffer of ``pipe``, where the system allows it."""
        if pipe is not None:
            try:
                fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:
                return

else:

    def enlarge_pipe(pipe: IO[bytes] | None) -> None:
        """Other systems size their pipes themselves."""
