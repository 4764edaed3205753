"""Sessions of the clients that use aiohttp: timeouts, and answers as progress."""

from __future__ import annotations

from typing import Any

import aiohttp

from torch_tb_profiler.storage.deadlines import (
    CONNECT_SHARE,
    READ_SHARE,
    remote_timeout_s,
    report_progress,
)


def session_options() -> dict[str, Any]:
    """Options for ``aiohttp.ClientSession``; they can be pickled, as fsspec's options must be."""
    limit_s = remote_timeout_s()
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=CONNECT_SHARE * limit_s, sock_read=READ_SHARE * limit_s
    )
    return {"timeout": timeout, "trace_configs": [ProgressTrace()]}


class ProgressTrace(aiohttp.TraceConfig):
    """Reports the start of every answer as progress."""

    def __init__(self) -> None:
        super().__init__()
        self.on_request_end.append(_answered)

    def __reduce__(self) -> tuple[type[ProgressTrace], tuple[()]]:
        return ProgressTrace, ()

    def __repr__(self) -> str:  # fsspec distinguishes clients by the text of their options
        return "ProgressTrace()"


async def _answered(*_: object) -> None:
    report_progress()
