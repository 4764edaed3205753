"""Parses incoming requests: GET and HEAD without bodies; everything else is refused immediately.

waitress parses requests and enforces most rules; this adds checks for what it accepts or would read
without end. Refusals are JSON like all errors.
"""

from __future__ import annotations

from typing import Any

from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import Error, RequestEntityTooLarge

from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.requests.general import ErrorAnswer
from torch_tb_profiler.server.client_connection import CLIENT_SOCKET
from torch_tb_profiler.server.errors import HttpError, method_error
from torch_tb_profiler.server.responses import JSON_TYPE, secured_headers

METHODS = frozenset({"GET", "HEAD"})

_CODES = {
    400: "bad_request",
    413: "body_refused",
    431: "headers_too_large",
    501: "not_supported",
}
"""Status of a refusal → code of its problem; others are internal errors."""


class MethodNotAllowedError(Error):  # type: ignore[misc]  # waitress has no types; so in this file
    """Neither GET nor HEAD."""

    code = 405
    reason = "Method Not Allowed"


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """Parser of one request."""

    def parse_header(self, header_plus: bytes) -> None:
        """Parse request line and headers.

        Raises:
            ParsingError: they are invalid.
        """
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # brackets in a host, thousands of digits in a length
            raise ParsingError("Invalid address or length") from error
        if self.proxy_netloc:  # an absolute address overrides Host (RFC 9112, 3.2.2)
            self.headers["HOST"] = self.proxy_netloc
        if self.command not in METHODS:
            self._refuse(MethodNotAllowedError(self.command))
        elif self.chunked or self.content_length:
            self._refuse(RequestEntityTooLarge("Requests with a body are not supported"))
        self.expect_continue = False  # otherwise waitress waits for a body that never arrives

    def _refuse(self, error: Error) -> None:
        self.error = error
        self.body_rcv = None
        self.chunked = False
        self.content_length = 0


class AnswerTask(WSGITask):  # type: ignore[misc]
    """The answer of the application to one request."""

    def get_environment(self) -> dict[str, Any]:
        """The WSGI environment, with the connection."""
        environ: dict[str, Any] = super().get_environment()
        environ[CLIENT_SOCKET] = self.channel.socket
        return environ

    def finish(self) -> None:
        """Write the remaining part; nothing after the headers of a HEAD request."""
        if not self.wrote_header:
            self.write(b"")
        if self.request.command != "HEAD":
            super().finish()


class RefusalTask(ErrorTask):  # type: ignore[misc]
    """The answer to a request that is refused before it reaches the application."""

    def execute(self) -> None:
        """Write the refusal."""
        error = self.request.error
        refusal = _refusal(error)
        headers = secured_headers(JSON_TYPE)
        headers["Cache-Control"] = "no-store"
        headers.update(refusal.headers)
        body = encode(ErrorAnswer(error=refusal.problem))
        self.status = f"{refusal.status} {error.reason}"
        self.response_headers.extend(headers)
        self.channel.is_refused = True
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


def _refusal(error: Error) -> HttpError:
    if isinstance(error, MethodNotAllowedError):
        return method_error(error.body)
    code = _CODES.get(error.code)
    if code is None:
        return HttpError(500, "internal", "The server could not answer this.")
    return HttpError(error.code, code, f"{error.reason}: {error.body}.")
