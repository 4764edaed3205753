"""Keep credentials out of what is shown, logged and written.

URLs may contain them (a shared access signature, a password), and a cloud client's error message
may repeat them.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit, urlunsplit

REDACTED = "***"

_SECRET_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_SAS_TOKEN",
    "TORCH_TB_PROFILER_CACHE_KEY",
)

_MIN_SECRET_CHARS = 8
"""Shorter values are not secrets of any store; redacting them would blank out ordinary words."""

_ASSIGNED = re.compile(
    r"""(?ix)
    ( \b(?: [\w.-]*(?:signature|secret|password|passwd|credential|token|accesskey|accesskeyid
        |account_?key|api_?key) | sig )["']? \s* [=:] \s* (?:bearer\s+)? ["']? )
    [^\s"'&;,<>]+
    """
)
"""``sig=…``, ``X-Amz-Signature=…``, ``AccountKey=…``, ``"access_token": "…"``."""

_BEARER = re.compile(r"(?i)\b(bearer|sharedkey|basic)\s+[\w.+/=:~-]{8,}")
_USER_INFO = re.compile(r"(?<=://)[^\s/@]+:[^\s/@]+(?=@)")


def without_secrets(text: str) -> str:
    """``text`` with everything that may be a credential replaced.

    >>> without_secrets("GET https://a.blob/c?sv=2&sig=abc%3D failed")
    'GET https://a.blob/c?sv=2&sig=*** failed'
    """
    for name in _SECRET_VARIABLES:
        value = os.environ.get(name, "").strip()
        if len(value) >= _MIN_SECRET_CHARS:
            text = text.replace(value, REDACTED)
    text = _USER_INFO.sub(REDACTED, text)
    text = _ASSIGNED.sub(rf"\1{REDACTED}", text)
    return _BEARER.sub(rf"\1 {REDACTED}", text)


def public_url(url: str) -> str:
    """``url`` without password and query, which may be a signature; paths stay as they are.

    >>> public_url("https://acc.blob.core.windows.net/runs?sv=1&sig=abc")
    'https://acc.blob.core.windows.net/runs'
    """
    if "://" not in url or not url.isprintable():
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return without_secrets(url)
    host = parts.netloc
    user, at, rest = host.rpartition("@")
    if at and ":" in user:
        host = f"{user.partition(':')[0]}@{rest}"
    query = "" if parts.scheme in _QUERY_IS_SIGNATURE else parts.query
    return urlunsplit((parts.scheme, host, parts.path, query, parts.fragment))


_QUERY_IS_SIGNATURE = frozenset({"http", "https", "az", "abfs", "abfss"})
"""In other schemes ``?`` is a character that a name may contain."""
