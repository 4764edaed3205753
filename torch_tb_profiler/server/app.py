"""The WSGI application: dispatches to routes, returns errors as JSON, checks access, and limits
concurrent computations.

Mounted in two ways: standalone, with routes under ``/api/`` and pages under ``/``; and in
TensorBoard, with both under ``/data/plugin/pytorch_profiler/``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.opening.memory_budget import MEMORY_HINT
from torch_tb_profiler.loading.processes.address_space import is_out_of_memory
from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.requests.errors import LoadingError, Problem, unknown
from torch_tb_profiler.requests.runs import PendingAnswer
from torch_tb_profiler.server.access import Access, denied
from torch_tb_profiler.server.errors import HttpError, method_error, status_of
from torch_tb_profiler.server.gate import Gate, WaitingRoom
from torch_tb_profiler.server.host_names import host_in, is_allowed_host
from torch_tb_profiler.server.limits import AnswerLimits
from torch_tb_profiler.server.responses import error_response, json_response
from torch_tb_profiler.server.routes import PREFIX_ROUTES, ROUTES
from torch_tb_profiler.server.shared_answers import SharedAnswers
from torch_tb_profiler.server.site import Route, Site
from torch_tb_profiler.server.static_files import page_response

_LOGGER = logging.getLogger(__name__)

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Host names under which a browser on this machine reaches a loopback server."""

MAX_SHOWN_PATH = 120

FREE_ROUTES = frozenset({"about"})
"""Routes that compute nothing; like the pages they are never queued."""

STREAMED_ROUTES = frozenset({"download", "perfetto"})
"""Routes whose answers last as long as the client takes to read them."""

UNSHARED_ROUTES = frozenset({"sql"})
"""Routes whose computation ends when its client goes away, whoever else asks the same."""

STREAM_PIECE_BYTES = 128 << 10
"""Maximum size of a piece of a stream; servers buffer a few pieces per stream."""


class App:
    """Answers requests below one prefix.

    Args:
        site: Context of the routes.
        api_prefix: Path of the data routes, ``"/api/"``.
        page_prefix: Path of the pages, ``"/"``.
        allowed_hosts: Allowed values of the Host header (without port); None for all. Requests of
            another site whose name resolves to this machine (DNS rebinding) have that name here.
        access: Access control; None to admit everybody.
        limits: Limits for concurrent answers.
    """

    def __init__(
        self,
        site: Site,
        *,
        api_prefix: str,
        page_prefix: str,
        allowed_hosts: Collection[str] | None,
        access: Access | None = None,
        limits: AnswerLimits | None = None,
    ) -> None:
        self.site = site
        self._api_prefix = api_prefix
        self._page_prefix = page_prefix
        self._allowed_hosts = allowed_hosts
        self._access = access
        self._limits = limits = limits or AnswerLimits()
        room = WaitingRoom(limits.waiting, limits.wait_s, limits.retry_after_s)
        self._computing = Gate(limits.computing, room)
        self._streams = Gate(limits.streams, room)
        self._shared: SharedAnswers[Response] = SharedAnswers(room)

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """WSGI (PEP 3333)."""
        response = self.respond(Request(environ))
        try:
            return response(environ, start_response)
        except BaseException:
            response.close()
            raise

    def respond(self, request: Request) -> Response:
        """The answer to a request; errors are answers too. The caller closes it."""

        def answer() -> Response:
            self._check(request)
            return self._dispatch(request)

        return _answer_or_error(request, answer)

    def _check(self, request: Request) -> None:
        if request.method not in ("GET", "HEAD"):
            raise method_error(request.method)
        name = host_in(request.environ.get("HTTP_HOST", ""))
        if not is_allowed_host(name, self._allowed_hosts):
            message = f"This server does not answer to the name {name[:80]!r}."
            hint = "Open it as http://localhost, or start it with --allow-host and that name."
            raise HttpError(403, "forbidden_host", message, hint)

    def _dispatch(self, request: Request) -> Response:
        path = request.path
        if path.startswith(self._api_prefix):
            if self._access is not None and not self._access.admits(request):
                raise denied()
            name, slash, rest = path[len(self._api_prefix) :].partition("/")
            routes = PREFIX_ROUTES if slash else ROUTES
            if name in routes:
                return self._routed(request, name, routes[name], rest)
        elif self._access is not None:
            refusal = self._access.page_answer(request)
            if refusal is not None:
                return refusal
        if path.startswith(self._page_prefix):
            page = page_response(request, path[len(self._page_prefix) :])
            if page is not None:
                return page
        known = [*ROUTES, *(f"{name}/…" for name in PREFIX_ROUTES)]
        raise unknown("route", path[:MAX_SHOWN_PATH].removeprefix(self._api_prefix), known)

    def _routed(self, request: Request, name: str, route: Route, rest: str) -> Response:
        if name in FREE_ROUTES:
            return route(self.site, request, rest)
        if name in STREAMED_ROUTES:
            return self._streamed(request, route, rest)

        def compute() -> Response:
            with self._computing.slot():
                try:
                    return route(self.site, request, rest)
                finally:
                    self.site.catalog.store.enforce_limit()

        if name in UNSHARED_ROUTES:
            return compute()
        headers = [request.headers.get(name) for name in ("Accept-Encoding", "If-None-Match")]
        question = (request.path, request.query_string, *headers)
        return self._shared.answer(question, lambda: _answer_or_error(request, compute))

    def _streamed(self, request: Request, route: Route, rest: str) -> Response:
        """An answer that occupies its slot until it is read completely or closed."""
        self._streams.enter()
        try:
            response = route(self.site, request, rest)
        except BaseException:
            self._streams.leave()
            raise
        connection = request.environ.get("werkzeug.socket")
        if connection is not None:
            connection.settimeout(self._limits.piece_s)
        leave = _once(self._streams.leave)
        response.response = _split_stream(response.iter_encoded(), leave)
        response.call_on_close(leave)
        return response


def standalone_app(
    site: Site,
    *,
    allowed_hosts: Collection[str] | None = LOOPBACK_HOSTS,
    access: Access | None = None,
    limits: AnswerLimits | None = None,
) -> App:
    """The app of ``torch-tb-profiler serve``: pages at ``/``, routes under ``/api/``."""
    return App(
        site,
        api_prefix="/api/",
        page_prefix="/",
        allowed_hosts=allowed_hosts,
        access=access,
        limits=limits,
    )


def _answer_or_error(request: Request, answer: Callable[[], Response]) -> Response:
    """The result of ``answer``, with exceptions converted into answers."""
    try:
        return answer()
    except NotReadyError as pending:
        return json_response(request, PendingAnswer(span=pending.status), status=202)
    except LoadingError as error:
        return error_response(request, status_of(error), error.problem)
    except HttpError as error:
        response = error_response(request, error.status, error.problem)
        response.headers.update(error.headers)
        return response
    except BaseException as error:  # panics of native libraries do not derive from Exception
        if is_out_of_memory(error):
            problem = Problem("out_of_memory", "There is not enough memory for this.", MEMORY_HINT)
            return error_response(request, 422, problem)
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        _LOGGER.exception("answering %r failed", request.path[:MAX_SHOWN_PATH])
        hint = "The server's log has the details; please report them."
        problem = Problem("internal", "The server could not answer this.", hint)
        return error_response(request, 500, problem)


def _split_stream(pieces: Iterable[bytes], at_end: Callable[[], None]) -> Iterator[bytes]:
    for piece in pieces:
        for first in range(0, len(piece), STREAM_PIECE_BYTES):
            yield piece[first : first + STREAM_PIECE_BYTES]
    at_end()


def _once(function: Callable[[], None]) -> Callable[[], None]:
    """A function that calls ``function`` at most once."""
    left = [function]

    def call() -> None:
        if left:
            left.pop()()

    return call
