"""The Google Cloud Storage client: the bytes of an object exactly as they are stored.

The store decompresses an object with ``Content-Encoding: gzip`` for a client that does not accept
gzip: all of it, whatever range was requested, and longer than its reported size. For a client that
accepts gzip it sends the object as stored, and aiohttp decompresses it, which fails for any range
but the first. So objects are requested as they are stored and not decompressed here: the reader of
a trace does that. See "Transcoding of gzip-compressed files" in Google's documentation of Cloud
Storage.
"""

from __future__ import annotations

from typing import Any

import gcsfs  # type: ignore[import-untyped]
from gcsfs import core

MEDIA = "alt=media"
"""In the address of an object's bytes, not in the address of its metadata."""


class StoredBytesSession:
    """An HTTP session that returns objects as they are stored."""

    def __init__(self, session: Any) -> None:
        """Wrap an ``aiohttp.ClientSession``."""
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def request(self, method: str, url: str, **options: Any) -> Any:
        """As the wrapped session."""
        if method.upper() == "GET" and MEDIA in url:
            options["headers"] = {**(options.get("headers") or {}), "Accept-Encoding": "gzip"}
            options["auto_decompress"] = False
        return self._session.request(method=method, url=url, **options)


class _StoredBytes:
    @property
    def session(self) -> Any:
        """The client's session, for its requests."""
        session = super().session  # type: ignore[misc]  # of gcsfs, which has no types
        return None if session is None else StoredBytesSession(session)


class GoogleClient(_StoredBytes, core.GCSFileSystem):  # type: ignore[misc]  # as above
    """gcsfs over HTTP only."""


class ZonalGoogleClient(_StoredBytes, gcsfs.GCSFileSystem):  # type: ignore[misc]  # as above
    """gcsfs that determines the kind of each bucket, enabled by gcsfs's own variable."""
