"""Addresses of trackers without what gives access to them."""

from __future__ import annotations

import re

_CREDENTIALS = re.compile(r"//[^/\s@]*@")


def without_credentials(text: str) -> str:
    """``text`` without user and password of addresses in it."""
    return _CREDENTIALS.sub("//", text)
