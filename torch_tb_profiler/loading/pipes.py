"""Pipes between processes."""

from __future__ import annotations

import sys
from typing import IO

PIPE_BYTES = 1 << 20
"""Room for the answer to one piece of a trace, so that writing it seldom waits for the reader."""

if sys.platform == "linux":
    import fcntl

    def widen(pipe: IO[bytes] | None) -> None:
        """Let more bytes wait in ``pipe``, where the system allows it."""
        if pipe is not None:
            try:
                fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:
                return

else:

    def widen(pipe: IO[bytes] | None) -> None:
        """Other systems size their pipes themselves."""
