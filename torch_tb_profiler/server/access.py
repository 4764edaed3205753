"""Access control by a token.

Scripts send it as ``Authorization: Bearer``. A browser opens ``/?token=…`` once, gets a cookie and
is redirected to the address without the token, which then appears neither in the address bar nor in
``Referer`` headers.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from urllib.parse import quote, urlencode

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.server.errors import HttpError
from torch_tb_profiler.server.responses import secured_headers
from torch_tb_profiler.server.static_files import CONTENT_TYPES

HTML_TYPE = CONTENT_TYPES[".html"]
TOKEN_VARIABLE = "TORCH_TB_PROFILER_TOKEN"
AUTOMATIC = "auto"
"""In place of a token: generate one."""

TOKEN_BYTES = 24
"""192 random bits cannot be guessed."""

COOKIE_PREFIX = "torch_tb_profiler_"
"""Followed by the port: cookies belong to a host, which may run several servers."""

HINT = (
    "Open the address that the server printed when it started (it ends with ?token=…), "
    "or send the header Authorization: Bearer TOKEN."
)

_DENIED_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">{again}
<title>PyTorch Profiler</title><h1>This server requires a token</h1>
<p>Open the address that it printed when it started, which ends with <code>?token=…</code>, or add
the token to this address.</p></html>"""

_AGAIN = '<meta http-equiv="refresh" content="0">'
"""Coming from another site, a browser does not send the cookie; after a reload it does."""


def new_token() -> str:
    """Generate a token."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_token(text: str) -> bool:
    """Whether ``text`` can be a token: not empty, and valid in a header."""
    return bool(text) and all("!" <= character <= "~" for character in text)


class Access:
    """Admits requests that carry the token.

    Args:
        token: Visible ASCII characters.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode("ascii")
        # A hash is valid in a cookie for any token, and other servers on this host, which receive
        # its cookies too, do not learn the token.
        self._cookie = hmac.new(self._token, b"cookie", hashlib.sha256).hexdigest()

    def admits(self, request: Request) -> bool:
        """Whether the request carries the token or the cookie."""
        if self.admits_header(request.headers.get("Authorization", "")):
            return True
        cookie = request.cookies.get(_cookie_name(request), "")
        return hmac.compare_digest(cookie.encode("utf-8", "replace"), self._cookie.encode("ascii"))

    def admits_header(self, authorization: str) -> bool:
        """Whether an ``Authorization`` header carries the token."""
        scheme, _, value = authorization.partition(" ")
        return scheme.lower() == "bearer" and self._is_token(value.strip())

    def page_answer(self, request: Request) -> Response | None:
        """The answer to a request for a page instead of the page; None if it is admitted.

        With the token in its address it gets the cookie and a redirect; without cookie or header it
        gets a page that explains what is missing.
        """
        if self._is_token(request.args.get("token", "")):
            return self._set_cookie(request)
        return None if self.admits(request) else _denied_page(request)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token)

    def _set_cookie(self, request: Request) -> Response:
        others = [pair for pair in request.args.items(multi=True) if pair[0] != "token"]
        headers = secured_headers(HTML_TYPE)
        # Relative, so that it works behind a proxy that serves this under another path.
        page = "./" + quote(request.path.rpartition("/")[2])
        headers["Location"] = page + (f"?{urlencode(others)}" if others else "")
        headers["Cache-Control"] = "no-store"
        headers["Referrer-Policy"] = "no-referrer"
        response = Response(status=303, headers=headers)
        response.set_cookie(
            _cookie_name(request), self._cookie, httponly=True, samesite="Strict", path="/"
        )
        return response


def denied() -> HttpError:
    """The error for a data request without the token."""
    headers = {"WWW-Authenticate": "Bearer"}
    return HttpError(401, "token_needed", "This server requires a token.", HINT, headers)


def _denied_page(request: Request) -> Response:
    is_from_elsewhere = request.headers.get("Sec-Fetch-Site") == "cross-site"
    headers = secured_headers(HTML_TYPE)
    headers["WWW-Authenticate"] = "Bearer"
    headers["Cache-Control"] = "no-store"
    body = _DENIED_PAGE.format(again=_AGAIN if is_from_elsewhere else "")
    return Response(body, status=401, headers=headers)


def _cookie_name(request: Request) -> str:
    return f"{COOKIE_PREFIX}{request.environ['SERVER_PORT']}"
