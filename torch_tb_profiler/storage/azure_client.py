"""The Azure client: answers count as progress, and retries follow soon."""

from __future__ import annotations

from typing import Any

from adlfs import AzureBlobFileSystem  # type: ignore[import-untyped]

from torch_tb_profiler.storage.deadlines import (
    CONNECT_SHARE,
    READ_SHARE,
    remote_timeout_s,
    report_progress,
)


class AzureClient(AzureBlobFileSystem):  # type: ignore[misc]  # it has no types
    """adlfs with settings that it does not pass on to the SDK's client."""

    def do_connect(self) -> None:
        """Create the SDK's client and set its policies on it."""
        super().do_connect()
        settings = getattr(self.service_client, "_config", None)
        _hurry(getattr(settings, "retry_policy", None))
        _watch(getattr(settings, "transport", None))


def _hurry(policy: Any) -> None:
    """Retry after a second, not a quarter of a minute: people wait."""
    for name, value in (("initial_backoff", 1), ("increment_base", 1), ("random_jitter_range", 1)):
        if hasattr(policy, name):
            setattr(policy, name, value)


def _watch(transport: Any) -> None:
    """Limit how long an answer may stall, and report each answer as progress."""
    connection = getattr(transport, "connection_config", None)
    if connection is None:
        return
    connection.timeout = CONNECT_SHARE * remote_timeout_s()
    connection.read_timeout = READ_SHARE * remote_timeout_s()
    send = transport.send

    async def sent(request: Any, **options: Any) -> Any:
        response = await send(request, **options)
        report_progress()
        return response

    transport.send = sent
