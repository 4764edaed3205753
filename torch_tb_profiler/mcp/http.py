"""The server over HTTP: the SDK's application behind the checks of ``serve``."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.server import make_server
from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.general import ErrorAnswer
from torch_tb_profiler.server.access import Access, denied
from torch_tb_profiler.server.errors import HttpError
from torch_tb_profiler.server.host_names import host_in, is_allowed_host
from torch_tb_profiler.server.limits import ConnectionLimits
from torch_tb_profiler.server.responses import JSON_TYPE, secured_headers
from torch_tb_profiler.server.serving import EVERY_ADDRESS, allowed_hosts, is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
MAX_BODY_BYTES = 256 << 10
"""Of a request: ten times the longest query."""
MAX_SESSIONS = 100


class GuardedApp:
    """An ASGI application that answers only to the names of the server, to no other site, and to
    who has the token.

    Args:
        app: The application.
        allowed: Names in the Host header; None for all.
        access: Access control; None to admit everybody.
    """

    def __init__(
        self, app: ASGIApp, allowed: Collection[str] | None, access: Access | None
    ) -> None:
        self._app = app
        self._allowed = allowed
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI 3."""
        if scope["type"] == "http":
            refusal = self._refusal(_headers(scope))
            if refusal is not None:
                await _send_error(refusal, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: dict[str, str]) -> HttpError | None:
        name = host_in(headers.get("host", ""))
        if not is_allowed_host(name, self._allowed):
            message = f"This server does not answer to the name {name[:80]!r}."
            hint = "Use http://localhost, or start it with --allow-host and that name."
            return HttpError(403, "forbidden_host", message, hint)
        origin = headers.get("origin")
        if origin is not None and not self._is_own_site(origin, headers.get("host", "")):
            message = f"This server does not answer to pages of {origin[:80]!r}."
            return HttpError(403, "forbidden_origin", message, "Call it from a program.")
        access = self._access
        if access is None or access.admits_header(headers.get("authorization", "")):
            return None
        return denied()

    def _is_own_site(self, origin: str, host: str) -> bool:
        try:
            authority = urlsplit(origin).netloc
        except ValueError:
            return False
        if self._allowed is None:
            return bool(authority) and authority.lower() == host.lower()
        return is_allowed_host(host_in(authority), self._allowed)


def make_app(
    context: ToolContext, *, allowed: Collection[str] | None, access: Access | None
) -> GuardedApp:
    """The application at :data:`PATH`.

    Args:
        context: The recordings.
        allowed: As of :class:`GuardedApp`.
        access: As of :class:`GuardedApp`.
    """
    app = make_server(context).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=MAX_SESSIONS,
        # Checked before, by the rules of `serve`.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return GuardedApp(app, allowed, access)


def serve_http(
    context: ToolContext,
    *,
    host: str,
    port: int,
    token: str | None,
    allowed_names: Collection[str] = (),
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until interrupted.

    Args:
        context: The recordings.
        host: Address to listen on.
        port: Port; 0 takes a free one.
        token: Token required of clients, or None.
        allowed_names: Host names to answer to in addition to those of ``host``.
        announce: Receives the address once the server listens.

    Raises:
        OSError: the address cannot be bound.
    """
    access = None if token is None else Access(token)
    app = make_app(context, allowed=allowed_hosts(host, allowed_names), access=access)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=ConnectionLimits().connections,
        timeout_keep_alive=int(ConnectionLimits().request_s),
    )
    # Ctrl-C may arrive before the server serves.
    with (
        socket.create_server((host, port), family=family) as bound,
        contextlib.suppress(KeyboardInterrupt),
    ):
        shown = "localhost" if host in EVERY_ADDRESS else f"[{host}]" if ":" in host else host
        announce(f"http://{shown}:{bound.getsockname()[1]}{PATH}")
        if token is not None:
            announce(f"Clients send the header Authorization: Bearer {token}")
        elif not is_loopback(host):
            announce("Anybody who can reach this port can read these traces. Use --token.")
        uvicorn.Server(config).run(sockets=[bound])


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by name; of one that is sent twice the values together, which no check admits."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _send_error(error: HttpError, send: Send) -> None:
    problem: Problem = error.problem
    headers: dict[str, Any] = {**secured_headers(JSON_TYPE), **error.headers}
    headers["Cache-Control"] = "no-store"
    body = encode(ErrorAnswer(error=problem))
    await send(
        {
            "type": "http.response.start",
            "status": error.status,
            "headers": [
                (name.lower().encode("latin-1"), str(value).encode("latin-1"))
                for name, value in headers.items()
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})
