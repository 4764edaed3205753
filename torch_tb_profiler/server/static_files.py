"""The built pages. Names are looked up in a list of existing files, never joined to a path."""

from __future__ import annotations

import functools
from pathlib import Path

from isal import igzip
from werkzeug.wrappers import Request, Response

from torch_tb_profiler.server.responses import data_response

STATIC_FOLDER = Path(__file__).resolve().parent.parent / "static"

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}
"""Suffix → type; the tables of the operating system may differ."""

FOREVER = "public, max-age=31536000, immutable"
"""For ``assets/``, whose file names contain a hash of the content."""

NOT_BUILT = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>PyTorch Profiler</title>
<h1>The pages are not built</h1>
<p>This is a source checkout without its front end. Build it with <code>make fe</code> (needs
Node 20 or later), or install a wheel: <code>pip install torch-tb-profiler</code>.</p></html>"""


def page_response(request: Request, name: str) -> Response | None:
    """The static file ``name`` (``""`` is the page itself); None if there is none."""
    name = name or "index.html"
    path = _files().get(name)
    if path is None or not path.is_file():
        _files.cache_clear()  # the pages may have been built in the meantime
        path = _files().get(name)
    if path is None:
        if name != "index.html":
            return None
        return data_response(request, NOT_BUILT, CONTENT_TYPES[".html"], status=503)
    status = path.stat()
    data, packed = _content(path, status.st_mtime_ns, status.st_size)
    content_type = CONTENT_TYPES.get(path.suffix, "application/octet-stream")
    caching = FOREVER if name.startswith("assets/") else "no-cache"
    return data_response(request, data, content_type, cache_control=caching, packed=packed)


@functools.lru_cache(maxsize=1)
def _files() -> dict[str, Path]:
    folder = STATIC_FOLDER
    return {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }


@functools.lru_cache(maxsize=64)
def _content(path: Path, _mtime_ns: int, _size: int) -> tuple[bytes, bytes]:
    data = path.read_bytes()
    return data, igzip.compress(data, 3)
