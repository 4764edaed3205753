"""Arguments of events that are read on request, beside those that columns model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import quote, unquote

from msgspec import Struct

MAX_NAMES = 50
MAX_NAME_CHARS = 200

MAX_VALUE_CHARS = 10_000
"""Longer values are cut."""

_MARK = "/arguments "
_SEPARATOR = re.compile(r"(?<!\\),")


def never_secret(_name: str, _json_text: str) -> bool:
    """For readings whose values are not shown."""
    return False


class RequestedArguments(Struct, frozen=True):
    """Which arguments of slices are read into the table ``arguments``. It can be pickled.

    Attributes:
        names: Their names; none where nothing was requested.
        is_secret: Whether a value, given its name and its JSON text, may be a secret, which is not
            read.
    """

    names: tuple[str, ...] = ()
    is_secret: Callable[[str, str], bool] = never_secret


def parse_argument_names(text: str) -> tuple[str, ...]:
    """The names in a list with commas; ``\\,`` is a comma in a name.

    Raises:
        ValueError: there are too many, or one is too long.
    """
    parts = (part.replace("\\,", ",").strip() for part in _SEPARATOR.split(text))
    return checked_names(part for part in parts if part)


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names, sorted and each once, so that the same request is the same reading.

    Raises:
        ValueError: there are too many, or one is too long.
    """
    distinct = tuple(sorted(set(names)))
    if len(distinct) > MAX_NAMES:
        raise ValueError(f"{len(distinct)} arguments are more than the {MAX_NAMES} allowed.")
    for name in distinct:
        if len(name) > MAX_NAME_CHARS:
            raise ValueError(f"{name[:40]!r}… has more than {MAX_NAME_CHARS} characters.")
    return distinct


def names_variant(names: tuple[str, ...]) -> str:
    """Names as text for cache keys; empty for none."""
    encoded = (quote(name, safe="", errors="surrogatepass") for name in names)
    return _MARK + ",".join(encoded) if names else ""


def names_from_variant(variant: str) -> tuple[str, ...]:
    """The names in a text that contains :func:`names_variant`."""
    _, mark, rest = variant.partition(_MARK)
    if not mark:
        return ()
    encoded = rest.partition("/")[0]
    return tuple(unquote(name, errors="surrogatepass") for name in encoded.split(","))
