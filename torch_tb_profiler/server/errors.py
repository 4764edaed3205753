"""Errors as JSON with a proper status code; internal details are never shown."""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.requests.errors import (
    LoadingError,
    Problem,
    RequestError,
    UnknownError,
)

STATUS_OF_CODE = {"not_found": 404, "no_traces": 404, "permission_denied": 403, "internal": 500}
"""Problem code → HTTP status; other unreadable files are 422, because the request was valid."""


class HttpError(Exception):
    """An error answer.

    Args:
        status: HTTP status.
        code: Stable name of the problem.
        message: What failed and why.
        hint: The next step.
        headers: Additional headers.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.problem = Problem(code, message, hint)
        self.headers = headers or {}


class BusyError(HttpError):
    """Too many requests are waiting.

    Args:
        retry_after_s: Delay in seconds before the client should retry.
    """

    def __init__(self, retry_after_s: int) -> None:
        hint = f"Retry in {retry_after_s} s; the pages retry by themselves."
        message = "The server has too many requests at once."
        super().__init__(503, "busy", message, hint, {"Retry-After": str(retry_after_s)})


def method_error(method: str) -> HttpError:
    """The error for a request that is neither GET nor HEAD."""
    message = f"{method[:20]} is not supported."
    return HttpError(405, "method_not_allowed", message, headers={"Allow": "GET, HEAD"})


def status_of(error: LoadingError) -> int:
    """The HTTP status for ``error``."""
    if isinstance(error, UnknownError):
        return 404
    if isinstance(error, RequestError):
        return 404 if error.problem.code == "view_unavailable" else 400
    return STATUS_OF_CODE.get(error.problem.code, 422)
