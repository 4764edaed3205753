"""Private texts that are spelled in another way: URL-encoded, with escapes, as base64 or hex."""

from __future__ import annotations

import base64
import binascii
import html
import re
import urllib.parse
from collections.abc import Callable

_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ENTITY = re.compile(r"&(?:#\w{2,6}|quot|amp);")
_ESCAPE = re.compile(r'\\(?:u00([0-7][0-9A-Fa-f])|x([0-7][0-9A-Fa-f])|([/"\']))')
_TOKEN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{12,}={0,2}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(r"(?:0x)?((?:[0-9A-Fa-f]{2}){8,})")
_UNREADABLE = re.compile(r"[^\n\t\r\x20-\x7e\xa0-\uffff]")
_URL_SAFE = str.maketrans("-_", "+/")


def without_encoded(text: str, scrub: Callable[[str], str], token: Callable[[str], str]) -> str:
    """The text without what its decoded forms show to be private.

    Args:
        text: A text without what is private as it stands.
        scrub: The same rules, applied to a decoded form.
        token: What stands for a part whose decoded form is private.
    """
    for decode in (_without_nul, _from_percent, _from_entities, _from_escapes):
        decoded = decode(text)
        if decoded != text:
            scrubbed = scrub(decoded)
            if scrubbed != decoded:
                text = scrubbed

    def replaced(match: re.Match[str]) -> str:
        decoded = _decoded_token(match[0])
        return match[0] if decoded is None or scrub(decoded) == decoded else token(match[0])

    return _TOKEN.sub(replaced, text)


def _without_nul(text: str) -> str:
    return text.replace("\0", "") if "\0" in text else text


def _from_percent(text: str) -> str:
    return urllib.parse.unquote(text) if _PERCENT.search(text) else text


def _from_entities(text: str) -> str:
    return html.unescape(text) if _ENTITY.search(text) else text


def _from_escapes(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: match[3] or chr(int(match[1] or match[2], 16)), text)


def _decoded_token(token: str) -> str | None:
    """What a token says as hex or base64; None if that is no text for people."""
    digits = _HEX.fullmatch(token)
    if digits is not None:
        return _readable(bytes.fromhex(digits[1]))
    plain = token.rstrip("=").translate(_URL_SAFE)
    try:
        return _readable(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except binascii.Error:
        return None


def _readable(data: bytes) -> str | None:
    """Bytes as text, of UTF-16, too; None if it is none."""
    data = data.replace(b"\0", b"")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _UNREADABLE.search(text) else text
