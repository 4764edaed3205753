"""The Google Cloud Storage client: the bytes of an object are those that are stored.

An object with ``Content-Encoding: gzip`` is unpacked on its way to who does not say that gzip is
accepted: whole, whatever range was asked for, and longer than its size says. To who does, it comes
as it is stored, and aiohttp unpacks it then, which fails for any range but the first. So objects
are asked for as they are stored, and nothing is unpacked here: the reader of a trace does that.
See "Transcoding of gzip-compressed files" in Google's documentation of Cloud Storage.
"""

from __future__ import annotations

from typing import Any

import gcsfs  # type: ignore[import-untyped]
from gcsfs import core

MEDIA = "alt=media"
"""In the address of an object's bytes; those of its description have it not."""


class StoredBytesSession:
    """An HTTP session that gets the bytes of objects as they are stored."""

    def __init__(self, session: Any) -> None:
        """Wrap an ``aiohttp.ClientSession``."""
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def request(self, method: str, url: str, **options: Any) -> Any:
        """As the session wrapped."""
        if method.upper() == "GET" and MEDIA in url:
            options["headers"] = {**(options.get("headers") or {}), "Accept-Encoding": "gzip"}
            options["auto_decompress"] = False
        return self._session.request(method=method, url=url, **options)


class _StoredBytes:
    @property
    def session(self) -> Any:
        """The session of the client, for its requests."""
        session = super().session  # type: ignore[misc]  # of gcsfs, which has no types
        return None if session is None else StoredBytesSession(session)


class GoogleClient(_StoredBytes, core.GCSFileSystem):  # type: ignore[misc]  # as above
    """gcsfs that speaks only HTTP."""


class ZonalGoogleClient(_StoredBytes, gcsfs.GCSFileSystem):  # type: ignore[misc]  # as above
    """gcsfs that asks each bucket for its kind, where its own variable says so."""
