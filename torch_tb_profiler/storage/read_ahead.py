"""Read a remote object as ranges, several in flight while earlier ones are used.

One request after another would leave the network idle while a trace is parsed, and the parser idle
during a request; a store also gives each connection only a part of the bandwidth.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from itertools import islice
from typing import Any

from torch_tb_profiler.storage.deadlines import (
    NoAnswerError,
    RequestDeadline,
    await_result,
    bytes_timeout_s,
    refresh_credentials,
    remote_timeout_s,
    set_deadline,
)
from torch_tb_profiler.storage.errors import ShortRangeError, is_permanent

RANGES_AHEAD = 8
"""With ranges of 4 MiB, 32 MiB are in flight: at 50 ms per request some 600 MB/s."""

ATTEMPTS = 4
RETRY_S = 0.2
"""Pause before the second attempt; doubles with each."""


def read_ranges(
    filesystem: Any, path: str, size_bytes: int, range_bytes: int, ahead: int = RANGES_AHEAD
) -> Iterator[bytes]:
    """The object's bytes in order, ``range_bytes`` at a time, with ``ahead`` ranges in flight.

    Args:
        filesystem: An asynchronous fsspec filesystem with its own event loop.
        path: The object's path in it.
        size_bytes: The object's size.
        range_bytes: Size of each range but the last.
        ahead: Ranges requested before they are needed.

    Raises:
        ShortRangeError: the object is not of that size.
        NoAnswerError: a range does not arrive in time.
        Exception: whatever the client raises in the last attempt.
    """
    refresh_credentials(filesystem)
    starts = iter(range(0, size_bytes, range_bytes))
    under_way: deque[Future[bytes]] = deque()

    def request(count: int) -> None:
        for start in islice(starts, count):
            fetching = _fetch(filesystem, path, start, min(start + range_bytes, size_bytes))
            under_way.append(asyncio.run_coroutine_threadsafe(fetching, filesystem.loop))

    try:
        request(ahead)
        while under_way:
            piece = await_result(under_way.popleft(), bytes_timeout_s(range_bytes))
            request(1)
            yield piece
    finally:
        for future in under_way:
            future.cancel()


async def _fetch(filesystem: Any, path: str, start: int, end: int) -> bytes:
    """One range; retried until the timeout of a request has passed."""
    limit_s, most_s = remote_timeout_s(), bytes_timeout_s(end - start)
    began_s = time.monotonic()
    for attempt in range(1, ATTEMPTS + 1):
        deadline = RequestDeadline(limit_s, began_s + most_s - time.monotonic())
        set_deadline(deadline)
        try:
            piece = await _answered(filesystem._cat_file(path, start=start, end=end), deadline)
        except Exception as error:
            given_up = attempt == ATTEMPTS or time.monotonic() - began_s > limit_s
            if given_up or is_permanent(error):
                raise
        else:
            if len(piece) == end - start:
                return piece
            if attempt == ATTEMPTS:
                raise ShortRangeError(f"{path}: {len(piece)} bytes of {end - start}")
        await asyncio.sleep(RETRY_S * 2 ** (attempt - 1))
    raise AssertionError("the last attempt returns or raises")


async def _answered(fetching: Coroutine[Any, Any, bytes], deadline: RequestDeadline) -> bytes:
    """The bytes, if their answer begins within the timeout and is complete within the total."""
    task = asyncio.ensure_future(fetching)
    # Errors that a client raises when it is cancelled are dropped.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({task}, timeout=deadline.limit_s)
        if not task.done() and deadline.has_progress:
            await asyncio.wait({task}, timeout=deadline.total_s - deadline.limit_s)
        if not task.done():
            raise NoAnswerError(deadline.total_s if deadline.has_progress else deadline.limit_s)
        return task.result()
    finally:
        task.cancel()
