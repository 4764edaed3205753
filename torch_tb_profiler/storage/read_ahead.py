"""The bytes of a remote object, fetched as ranges that are under way while earlier ones are used.

One request after the other would leave the network idle while a trace is parsed, and the parser
idle while a request travels; a store gives each connection only a part of the bandwidth.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import islice
from typing import Any

from torch_tb_profiler.storage.errors import ShortRangeError, is_final

RANGES_AHEAD = 8
"""With ranges of 4 MiB, 32 MiB under way: at 50 ms a request some 600 MB/s."""

ATTEMPTS = 4
RETRY_S = 0.2
"""Wait before the second try; doubles with each."""

REQUEST_S = 120.0
"""A range that takes longer than this is asked for again: the connection is dead."""


def read_ranges(
    filesystem: Any, path: str, size_bytes: int, range_bytes: int, ahead: int = RANGES_AHEAD
) -> Iterator[bytes]:
    """The object's bytes in order, ``range_bytes`` at a time, ``ahead`` ranges under way.

    Args:
        filesystem: An asynchronous fsspec filesystem with its own event loop.
        path: The object's path in it.
        size_bytes: The object's size.
        range_bytes: Size of each range but the last.
        ahead: Ranges asked for before they are needed.

    Raises:
        ShortRangeError: the object is not of that size.
        Exception: whatever the client raises in the last of several tries.
    """
    starts = iter(range(0, size_bytes, range_bytes))
    under_way: deque[Future[bytes]] = deque()

    def ask(count: int) -> None:
        for start in islice(starts, count):
            fetching = _fetch(filesystem, path, start, min(start + range_bytes, size_bytes))
            under_way.append(asyncio.run_coroutine_threadsafe(fetching, filesystem.loop))

    try:
        ask(ahead)
        while under_way:
            piece = under_way.popleft().result()
            ask(1)
            yield piece
    finally:
        for future in under_way:
            future.cancel()


async def _fetch(filesystem: Any, path: str, start: int, end: int) -> bytes:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            fetching = filesystem._cat_file(path, start=start, end=end)
            piece: bytes = await asyncio.wait_for(fetching, REQUEST_S)
        except Exception as error:
            if is_final(error) or attempt == ATTEMPTS:
                raise
        else:
            if len(piece) == end - start:
                return piece
            if attempt == ATTEMPTS:
                raise ShortRangeError(f"{path}: {len(piece)} bytes of {end - start}")
        await asyncio.sleep(RETRY_S * 2 ** (attempt - 1))
    raise AssertionError("the last try returns or raises")
