"""Who may read: those who know the server's token.

Scripts send it as ``Authorization: Bearer``. A browser opens ``/?token=…`` once: it gets a cookie
and is sent to the address without the token, which then stands neither in the address bar nor in
what other sites hear of where their visitors come from.
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
"""In place of a token: one is made."""

TOKEN_BYTES = 24
"""192 bits of chance: nobody guesses it."""

COOKIE_PREFIX = "torch_tb_profiler_"
"""The port follows: cookies are for a machine, and it may have several servers."""

HINT = (
    "Open the address that the server printed when it started (it ends with ?token=…), "
    "or send the header Authorization: Bearer TOKEN."
)

_DENIED_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">{again}
<title>PyTorch Profiler</title><h1>This server wants a token</h1>
<p>Open the address that it printed when it started: it ends with <code>?token=…</code>. Or add that
to this address yourself.</p></html>"""

_AGAIN = '<meta http-equiv="refresh" content="0">'
"""A browser that comes from another site shows no cookie of ours; one that comes from here does."""


def new_token() -> str:
    """A token nobody knows."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_token(text: str) -> bool:
    """Whether ``text`` can be a token: it must fit into a header, and not be empty."""
    return bool(text) and all("!" <= character <= "~" for character in text)


class Access:
    """Lets requests through that prove to know a token.

    Args:
        token: Visible ASCII characters.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode("ascii")
        # Any token fits into a cookie this way, and other servers of the machine, which get
        # its cookies too, do not learn the token.
        self._cookie = hmac.new(self._token, b"cookie", hashlib.sha256).hexdigest()

    def admits(self, request: Request) -> bool:
        """Whether the request carries the token or the cookie."""
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(value.strip()):
            return True
        cookie = request.cookies.get(_cookie_name(request), "")
        return hmac.compare_digest(cookie.encode("utf-8", "replace"), self._cookie.encode("ascii"))

    def page_answer(self, request: Request) -> Response | None:
        """What a request for a page gets instead of the page, or None.

        That is a cookie with the way to the page for one that carries the token in its address,
        and for any other without cookie or header a page that says what is missing.
        """
        if self._is_token(request.args.get("token", "")):
            return self._welcome(request)
        return None if self.admits(request) else _denied_page(request)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token)

    def _welcome(self, request: Request) -> Response:
        others = [pair for pair in request.args.items(multi=True) if pair[0] != "token"]
        headers = secured_headers(HTML_TYPE)
        # Relative, so that it holds behind a proxy that serves this under a path of its own.
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
    """The error for a request of data without the token."""
    headers = {"WWW-Authenticate": "Bearer"}
    return HttpError(401, "token_needed", "This server wants a token.", HINT, headers)


def _denied_page(request: Request) -> Response:
    is_from_elsewhere = request.headers.get("Sec-Fetch-Site") == "cross-site"
    headers = secured_headers(HTML_TYPE)
    headers["WWW-Authenticate"] = "Bearer"
    headers["Cache-Control"] = "no-store"
    body = _DENIED_PAGE.format(again=_AGAIN if is_from_elsewhere else "")
    return Response(body, status=401, headers=headers)


def _cookie_name(request: Request) -> str:
    return f"{COOKIE_PREFIX}{request.environ['SERVER_PORT']}"
