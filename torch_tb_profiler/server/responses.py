"""HTTP responses: security headers, cache validators, gzip if accepted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from isal import igzip, isal_zlib
from werkzeug.datastructures import Headers
from werkzeug.wrappers import Request, Response

from torch_tb_profiler.requests.encoding import Answer, encode
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.general import ErrorAnswer

JSON_TYPE = "application/json"
MIN_GZIP_BYTES = 1024
"""Shorter bodies fit into one packet."""

GZIP_LEVEL = 1
"""isal's level 1 compresses tables to a tenth at about 400 MB/s; higher levels do not pay off."""

GZIP_WBITS = 31
"""zlib's parameter for the gzip format with the largest window."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # chart tooltips carry style attributes
        "img-src 'self' data: blob:",  # charts saved as pictures
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'none'",
    )
)
"""No other host, no inline script. TensorBoard and editors may frame the page."""


def json_response(request: Request, body: Answer, status: int = 200) -> Response:
    """``body`` as JSON."""
    return data_response(request, encode(body), JSON_TYPE, status=status)


def error_response(request: Request, status: int, problem: Problem) -> Response:
    """An error as JSON."""
    return json_response(request, ErrorAnswer(error=problem), status)


def data_response(
    request: Request,
    data: bytes,
    content_type: str,
    *,
    status: int = 200,
    cache_control: str = "private, no-cache",
    file_name: str | None = None,
    packed: bytes | None = None,
) -> Response:
    """``data`` as a response with a cache validator, compressed if accepted.

    Args:
        request: The request.
        data: The body.
        content_type: Its type; texts are UTF-8.
        status: HTTP status; only 200 can become 304.
        cache_control: Value of ``Cache-Control``.
        file_name: Name under which browsers save it.
        packed: ``data`` compressed with gzip, if already known.
    """
    headers = secured_headers(content_type, file_name)
    headers["Cache-Control"] = cache_control
    headers["Vary"] = "Accept-Encoding"
    packs = len(data) >= MIN_GZIP_BYTES and request.accept_encodings["gzip"] > 0
    tag = hashlib.blake2b(data, digest_size=12).hexdigest() + ("-gz" if packs else "")
    if status == 200:
        headers["ETag"] = f'"{tag}"'
        if request.if_none_match.contains_weak(tag):
            return Response(status=304, headers=headers)
    if packs:
        data = packed if packed is not None else igzip.compress(data, GZIP_LEVEL)
        headers["Content-Encoding"] = "gzip"
    return Response(data, status=status, headers=headers)


def streamed_response(
    request: Request, pieces: Iterable[bytes], content_type: str, *, file_name: str
) -> Response:
    """A response generated while it is sent, compressed if accepted; never cached."""
    headers = secured_headers(content_type, file_name)
    headers["Cache-Control"] = "private, no-store"
    headers["Vary"] = "Accept-Encoding"
    if request.accept_encodings["gzip"] > 0:
        headers["Content-Encoding"] = "gzip"
        pieces = _packed(pieces)
    return Response(pieces, headers=headers)


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WBITS)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def secured_headers(content_type: str, file_name: str | None = None) -> Headers:
    """Headers of every response."""
    headers = Headers()
    headers["Content-Type"] = content_type
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    if file_name is not None:
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", file_name)
        headers.set("Content-Disposition", "attachment", filename=plain)
    return headers
