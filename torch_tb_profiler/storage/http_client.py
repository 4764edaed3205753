"""Sessions of the clients that speak HTTP through aiohttp: limits, and requests as progress."""

from __future__ import annotations

from typing import Any

import aiohttp

from torch_tb_profiler.storage.deadlines import (
    CONNECT_SHARE,
    READ_SHARE,
    progressed,
    remote_timeout_s,
)


def session_options() -> dict[str, Any]:
    """Options for ``aiohttp.ClientSession``, which can be pickled as fsspec's options must be."""
    limit_s = remote_timeout_s()
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=CONNECT_SHARE * limit_s, sock_read=READ_SHARE * limit_s
    )
    return {"timeout": timeout, "trace_configs": [ProgressTrace()]}


class ProgressTrace(aiohttp.TraceConfig):
    """Tells of every request whose answer began."""

    def __init__(self) -> None:
        super().__init__()
        self.on_request_end.append(_answered)

    def __reduce__(self) -> tuple[type[ProgressTrace], tuple[()]]:
        return ProgressTrace, ()

    def __repr__(self) -> str:  # fsspec tells clients apart by their options' text
        return "ProgressTrace()"


async def _answered(*_: object) -> None:
    progressed()
