"""Requests as they come in: GET and HEAD without bodies; everything else is refused at once.

waitress reads requests and knows most of the rules; what it lets through, or would read for ever,
is added here. Refusals are JSON like all errors.
"""

from __future__ import annotations

from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import Error, RequestEntityTooLarge

from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.requests.general import ErrorAnswer
from torch_tb_profiler.server.errors import HttpError, method_error
from torch_tb_profiler.server.responses import JSON_TYPE, secured_headers

METHODS = frozenset({"GET", "HEAD"})

_CODES = {
    400: "bad_request",
    413: "body_refused",
    431: "headers_too_large",
    501: "not_supported",
}
"""Status of a refusal → code of its problem; the others are our fault."""


class MethodNotAllowedError(Error):  # type: ignore[misc]  # waitress has no types; so in this file
    """Neither GET nor HEAD."""

    code = 405
    reason = "Method Not Allowed"


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """One request, complete with its headers."""

    def parse_header(self, header_plus: bytes) -> None:
        """Read request line and headers.

        Raises:
            ParsingError: they break the rules.
        """
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # brackets in a host, thousands of digits in a length
            raise ParsingError("Address or length makes no sense") from error
        if self.proxy_netloc:  # an absolute address counts, whatever Host says (RFC 9112, 3.2.2)
            self.headers["HOST"] = self.proxy_netloc
        if self.command not in METHODS:
            self._refuse(MethodNotAllowedError(self.command))
        elif self.chunked or self.content_length:
            self._refuse(RequestEntityTooLarge("Requests with a body are not served"))
        self.expect_continue = False  # else waitress waits for the body that does not come

    def _refuse(self, error: Error) -> None:
        self.error = error
        self.body_rcv = None
        self.chunked = False
        self.content_length = 0


class AnswerTask(WSGITask):  # type: ignore[misc]
    """The answer of the application to one request."""

    def finish(self) -> None:
        """Write what is still missing; after the headers for HEAD that is nothing."""
        if not self.wrote_header:
            self.write(b"")
        if self.request.command != "HEAD":
            super().finish()


class RefusalTask(ErrorTask):  # type: ignore[misc]
    """The answer to a request that the application does not get to see."""

    def execute(self) -> None:
        """Write it."""
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
