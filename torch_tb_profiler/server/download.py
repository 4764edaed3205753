"""The trace file as it is stored, streamed."""

from __future__ import annotations

from collections.abc import Iterator

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.server.responses import secured_headers
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, file_state, read_chunks


def download_response(request: Request, location: Location) -> Response:
    """The content of a file as a download under its name.

    Raises:
        OpenError: it cannot be read.
    """
    try:
        size_bytes = file_state(location).size_bytes
        chunks = read_chunks(location)
        first = next(chunks, b"") if request.method == "GET" else b""
    except StorageError as error:
        raise OpenError.of(error) from error
    content_type = "application/gzip" if location.name.endswith(".gz") else "application/json"
    headers = secured_headers(content_type, location.name)
    headers["Cache-Control"] = "private, no-store"
    headers["Content-Length"] = str(size_bytes)
    return Response(_limit_bytes(first, chunks, size_bytes), headers=headers)


def _limit_bytes(first: bytes, chunks: Iterator[bytes], size_bytes: int) -> Iterator[bytes]:
    """At most the announced number of bytes, in case the file grows meanwhile."""
    left = size_bytes
    chunk: bytes | None = first
    while chunk and left > 0:
        yield chunk[:left]
        left -= len(chunk)
        chunk = next(chunks, None)
