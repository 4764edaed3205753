"""Disambiguation of names with equal short forms."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from itertools import count

from torch_tb_profiler.knowledge.kernel_names.plain import ELLIPSIS, READABLE_CHARS
from torch_tb_profiler.knowledge.kernel_names.positions import (
    MAX_VALUE_CHARS,
    PositionValues,
    position_values,
)

MAX_GROUP = 400
"""At most this many names of equal form are compared; larger groups get hashes."""

MAX_VALUES = 4
MIN_HEAD = 16
MIN_TILE_HEAD = 22
"""With this much room, the tile at the end of a generated name and its types before it stay."""

TILE = re.compile(r"_[A-Z]*\d+x\d+x\d+$")
HASH_CHARS = 6
EASY_CHARS = 8
"""Values up to this length count as equally short."""


def disambiguate(bases: dict[str, str], texts: Callable[[str], str]) -> dict[str, str]:
    """Make the short forms distinct.

    Args:
        bases: Name → its short form.
        texts: Returns the text of a name for the comparison: demangled.
    """
    shorts = dict(bases)
    for head_of in (_visible, _first_word):
        groups: dict[str, list[str]] = {}
        for name in _duplicates(shorts):
            groups.setdefault(head_of(bases[name]), []).append(name)
        for names in groups.values():
            if len(names) > MAX_GROUP:
                shorts |= {name: bases[name] for name in names}
                continue
            differences = _differences([position_values(texts(name)) for name in names])
            for name, values in zip(names, differences, strict=True):
                shorts[name] = _with_values(bases[name], values)
    for chars in (min(64, HASH_CHARS * 2**times) for times in count()):
        duplicates = _duplicates(shorts)
        if not duplicates:
            return shorts
        for name in duplicates:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:chars]
            shorts[name] = _with_mark(bases[name], f"#{digest}")
    return shorts


def _visible(text: str) -> str:
    return text[:READABLE_CHARS]


def _first_word(text: str) -> str:
    return text.partition("<")[0].partition(ELLIPSIS)[0]


def _duplicates(shorts: dict[str, str]) -> list[str]:
    """The names whose visible short forms are equal, sorted by name."""
    groups: dict[str, list[str]] = {}
    for name, short in shorts.items():
        groups.setdefault(_visible(short), []).append(name)
    return sorted(name for names in groups.values() if len(names) > 1 for name in names)


def _differences(group: list[PositionValues]) -> list[tuple[str, ...]]:
    """Per name the values that distinguish it from the others of the group: at the position with
    most different values, then at that with most among those that are equal there, and so on."""
    values: list[tuple[str, ...]] = [()] * len(group)
    keys = list(dict.fromkeys(key for values_of_name in group for key in values_of_name))
    waiting = [list(range(len(group)))]
    while waiting:
        rows = waiting.pop()
        best: list[str] = []
        rank = (1, 0)
        for key in keys:
            texts = [group[row].get(key, "") for row in rows]
            kinds = set(texts)
            if len(kinds) < rank[0] or len(kinds) == 1:
                continue
            longest = max(map(len, kinds))
            if (len(kinds), -max(longest, EASY_CHARS)) > rank:
                best, rank = texts, (len(kinds), -max(longest, EASY_CHARS))
        if not best or len(values[rows[0]]) >= MAX_VALUES:
            continue
        trimmed = _trim(set(best))
        parts: dict[str, list[int]] = {}
        for row, text in zip(rows, best, strict=True):
            values[row] += (trimmed[text],)
            parts.setdefault(text, []).append(row)
        waiting += [part for part in parts.values() if len(part) > 1]
    return values


def _trim(values: set[str]) -> dict[str, str]:
    """The values without their common prefix and suffix, up to the next capital, digit or space."""
    if max(map(len, values)) <= EASY_CHARS or "" in values:
        return {value: value for value in values}
    start = _common_chars(values)
    end = _common_chars({value[::-1] for value in values})
    shortest = min(values, key=len)
    end = min(end, len(shortest) - start)
    while start and (shortest[start:][:1].isdigit() or not _starts_word(shortest, start)):
        start -= 1  # keep the name of a number: LBSPPA512
    while end and not _starts_word(shortest, len(shortest) - end):
        end -= 1
    return {value: value[start : len(value) - end].strip("_ ") for value in values}


def _common_chars(values: set[str]) -> int:
    """Length of the common prefix."""
    pairs = zip(min(values), max(values), strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(min(values)))


def _starts_word(text: str, at: int) -> bool:
    if at >= len(text):
        return True
    before, first = text[at - 1], text[at]
    return (
        not (before.isalnum() and first.isalnum())
        or (first.isdigit() and not before.isdigit())
        or (first.isupper() and not before.isupper())
    )


def _with_values(base: str, values: Iterable[str]) -> str:
    texts = [value[:MAX_VALUE_CHARS] for value in values if value]
    return _with_mark(base, f"[{', '.join(texts)}]") if texts else base


def _with_mark(base: str, mark: str) -> str:
    """``base`` and ``mark``, within the visible length if both have enough room."""
    room = max(MIN_HEAD, READABLE_CHARS - len(mark) - 1)
    if len(base) <= room:
        return f"{base} {mark}"
    if TILE.search(base) and room >= MIN_TILE_HEAD:
        return f"{_first_and_last_words(base, room)} {mark}"
    return f"{base[: room - 1].rstrip('_ ,<')}{ELLIPSIS} {mark}"


def _first_and_last_words(base: str, room: int) -> str:
    """The first word of ``base`` and as many of the last words as fit."""
    first, *words = base.split("_")
    start = f"{first}{ELLIPSIS}"
    while len(start) + sum(len(word) + 1 for word in words) > room and len(words) > 1:
        del words[0]
    return f"{start}_{'_'.join(words)}"
