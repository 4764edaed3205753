"""The WSGI application: finds the route, answers errors as JSON, keeps strangers out.

Mounted twice: alone, with the routes under ``/api/`` and the pages beside; and in TensorBoard,
with routes and pages under ``/data/plugin/pytorch_profiler/``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.answering import NotReadyError
from torch_tb_profiler.loading.errors import LoadingError, Problem, unknown
from torch_tb_profiler.reports.json import SCHEMA_VERSION
from torch_tb_profiler.reports.payloads import PendingAnswer
from torch_tb_profiler.server.errors import HttpError, status_of
from torch_tb_profiler.server.payloads import span_payload
from torch_tb_profiler.server.responses import error_response, json_response
from torch_tb_profiler.server.routes import PREFIX_ROUTES, ROUTES
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.server.static_files import page_response

_LOGGER = logging.getLogger(__name__)

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names by which a browser on this machine reaches a loopback server."""

MAX_SHOWN_PATH = 120

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]+)?")


class App:
    """Answers requests below one prefix.

    Args:
        site: What the routes know.
        api_prefix: Path of the data routes, ``"/api/"``.
        page_prefix: Path of the pages, ``"/"``.
        allowed_hosts: Values of the Host header (without port) that are answered; None for all.
            A page of another site that makes its name point to this machine (DNS rebinding)
            carries its own name here.
    """

    def __init__(
        self,
        site: Site,
        *,
        api_prefix: str,
        page_prefix: str,
        allowed_hosts: Collection[str] | None,
    ) -> None:
        self.site = site
        self._api_prefix = api_prefix
        self._page_prefix = page_prefix
        self._allowed_hosts = allowed_hosts

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """WSGI (PEP 3333)."""
        request = Request(environ)
        return self.respond(request)(environ, start_response)

    def respond(self, request: Request) -> Response:
        """The answer to ``request``; whatever goes wrong is an answer too."""
        try:
            self._check(request)
            return self._dispatch(request)
        except NotReadyError as pending:
            span = span_payload(pending.status)
            body = PendingAnswer(schema_version=SCHEMA_VERSION, span=span)
            return json_response(request, body, status=202)
        except LoadingError as error:
            return error_response(request, status_of(error), error.problem)
        except HttpError as error:
            response = error_response(request, error.status, error.problem)
            if error.status == 405:
                response.headers["Allow"] = "GET, HEAD"
            return response
        except Exception:
            _LOGGER.exception("answering %s failed", request.path[:MAX_SHOWN_PATH])
            hint = "The log of the server has the details; please report them."
            problem = Problem("internal", "The server could not answer this.", hint)
            return error_response(request, 500, problem)

    def _check(self, request: Request) -> None:
        if request.method not in ("GET", "HEAD"):
            raise HttpError(405, "method_not_allowed", f"{request.method[:20]} is not served.")
        if self._allowed_hosts is None:
            return
        match = _HOST.fullmatch(request.environ.get("HTTP_HOST", "").lower())
        name = match[1] if match else ""
        if name not in self._allowed_hosts and not name.endswith(".localhost"):
            message = f"This server does not answer to the name {name[:80]!r}."
            hint = "Open it as http://localhost, or start it with --host and that name."
            raise HttpError(403, "forbidden_host", message, hint)

    def _dispatch(self, request: Request) -> Response:
        path = request.path
        if path.startswith(self._api_prefix):
            name, slash, rest = path[len(self._api_prefix) :].partition("/")
            if not slash and name in ROUTES:
                return ROUTES[name](self.site, request, "")
            if slash and name in PREFIX_ROUTES:
                return PREFIX_ROUTES[name](self.site, request, rest)
        if path.startswith(self._page_prefix):
            page = page_response(request, path[len(self._page_prefix) :])
            if page is not None:
                return page
        known = [*ROUTES, *(f"{name}/…" for name in PREFIX_ROUTES)]
        raise unknown("route", path[:MAX_SHOWN_PATH].removeprefix(self._api_prefix), known)


def standalone_app(site: Site, *, allowed_hosts: Collection[str] | None = LOOPBACK_HOSTS) -> App:
    """The app of ``torch-tb-profiler serve``: the page at ``/``, the routes under ``/api/``."""
    return App(site, api_prefix="/api/", page_prefix="/", allowed_hosts=allowed_hosts)
