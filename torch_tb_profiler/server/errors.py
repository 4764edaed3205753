"""Errors as JSON with a true status code; nothing internal is ever shown."""

from __future__ import annotations

from torch_tb_profiler.loading.errors import (
    LoadingError,
    Problem,
    RequestError,
    UnknownError,
)

STATUS_OF_CODE = {"not_found": 404, "no_traces": 404, "permission_denied": 403, "internal": 500}
"""Problem code → HTTP status; other files that cannot be read are 422: the request was fine."""


class HttpError(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.problem = Problem(code, message, hint)


def status_of(error: LoadingError) -> int:
    """The HTTP status that tells of ``error``."""
    if isinstance(error, UnknownError):
        return 404
    if isinstance(error, RequestError):
        return 404 if error.problem.code == "view_unavailable" else 400
    return STATUS_OF_CODE.get(error.problem.code, 422)
