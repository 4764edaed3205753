"""Errors of clients become the error of their cause: a missing file, no permission, or no
answer."""

from __future__ import annotations

import asyncio

import pytest

from torch_tb_profiler.storage.deadlines import NoAnswerError
from torch_tb_profiler.storage.errors import from_remote_error


class ResponseError(Exception):
    """As a client's own, with the status of the answer."""

    status_code = 403


@pytest.mark.parametrize(
    ("error", "cause", "code"),
    [
        (FileNotFoundError("x"), None, "not_found"),
        (FileNotFoundError("x"), ResponseError("404"), "not_found"),
        (FileNotFoundError("x"), TimeoutError(), "unreachable"),
        (FileNotFoundError("x"), asyncio.TimeoutError(), "unreachable"),
        (FileNotFoundError("x"), NoAnswerError(1.0), "unreachable"),
        (FileNotFoundError("x"), ConnectionRefusedError(), "unreachable"),
        (NoAnswerError(1.0), TimeoutError(), "unreachable"),
        (PermissionError(), ResponseError(), "permission_denied"),
        (ResponseError(), None, "permission_denied"),
    ],
)
def test_the_error_names_the_cause(error: Exception, cause: Exception | None, code: str) -> None:
    error.__cause__ = cause
    assert from_remote_error(error, "s3://bucket/x").code == code
