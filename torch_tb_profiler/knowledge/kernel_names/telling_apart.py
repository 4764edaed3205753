"""What tells names apart whose short forms are equal."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from itertools import count

from torch_tb_profiler.knowledge.kernel_names.places import MAX_VALUE_CHARS, Places, places
from torch_tb_profiler.knowledge.kernel_names.plain import ELLIPSIS, READABLE_CHARS

MAX_GROUP = 400
"""So many names of equal form are compared; more are told apart by their content's hash."""

MAX_VALUES = 4
MIN_HEAD = 16
MIN_TILE_HEAD = 22
"""With so much room the tile at the end of a generated name, and its types before, stay."""

TILE = re.compile(r"_[A-Z]*\d+x\d+x\d+$")
HASH_CHARS = 6
EASY_CHARS = 8
"""Values up to this length are as good as shorter ones."""


def told_apart(bases: dict[str, str], texts: Callable[[str], str]) -> dict[str, str]:
    """The short forms, none like another.

    Args:
        bases: Name → its short form, looked at alone.
        texts: The text of a name that is compared with others: demangled.
    """
    shorts = dict(bases)
    for head_of in (_seen, _first_word):
        groups: dict[str, list[str]] = {}
        for name in _alike(shorts):
            groups.setdefault(head_of(bases[name]), []).append(name)
        for names in groups.values():
            differing = _different([places(texts(name)) for name in names])
            for name, values in zip(names, differing, strict=True):
                shorts[name] = _with_values(bases[name], values)
    for chars in (min(64, HASH_CHARS * 2**times) for times in count()):
        alike = _alike(shorts)
        if not alike:
            return shorts
        for name in alike:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:chars]
            shorts[name] = _with_mark(bases[name], f"#{digest}")
    return shorts


def _seen(text: str) -> str:
    return text[:READABLE_CHARS]


def _first_word(text: str) -> str:
    return text.partition("<")[0].partition(ELLIPSIS)[0]


def _alike(shorts: dict[str, str]) -> list[str]:
    """The names of which a reader sees the same; in an order that is theirs alone."""
    groups: dict[str, list[str]] = {}
    for name, short in shorts.items():
        groups.setdefault(_seen(short), []).append(name)
    return sorted(name for names in groups.values() if len(names) > 1 for name in names)


def _different(group: list[Places]) -> list[tuple[str, ...]]:
    """Of each name what is needed to tell it from the others of the group: the place where most of
    them differ, then the place where those differ that are alike there, and so on."""
    values: list[tuple[str, ...]] = [()] * len(group)
    if len(group) > MAX_GROUP:
        return values
    keys = list(dict.fromkeys(key for found in group for key in found))
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
        shown = _trimmed(set(best))
        parts: dict[str, list[int]] = {}
        for row, text in zip(rows, best, strict=True):
            values[row] += (shown[text],)
            parts.setdefault(text, []).append(row)
        waiting += [part for part in parts.values() if len(part) > 1]
    return values


def _trimmed(values: set[str]) -> dict[str, str]:
    """The values without what all begin and end with, up to the next capital, digit or blank."""
    if max(map(len, values)) <= EASY_CHARS or "" in values:
        return {value: value for value in values}
    start = _common_chars(values)
    end = _common_chars({value[::-1] for value in values})
    some = min(values, key=len)
    end = min(end, len(some) - start)
    while start and (some[start:][:1].isdigit() or not _begins_word(some, start)):
        start -= 1  # of a number its name stays: LBSPPA512
    while end and not _begins_word(some, len(some) - end):
        end -= 1
    return {value: value[start : len(value) - end].strip("_ ") for value in values}


def _common_chars(values: set[str]) -> int:
    """How many characters all begin with."""
    pairs = zip(min(values), max(values), strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(min(values)))


def _begins_word(text: str, at: int) -> bool:
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
    """``base`` and ``mark``, in what a reader sees if there is room for enough of both."""
    room = max(MIN_HEAD, READABLE_CHARS - len(mark) - 1)
    if len(base) <= room:
        return f"{base} {mark}"
    if TILE.search(base) and room >= MIN_TILE_HEAD:
        return f"{_ending(base, room)} {mark}"
    return f"{base[: room - 1].rstrip('_ ,<')}{ELLIPSIS} {mark}"


def _ending(base: str, room: int) -> str:
    """The first word of ``base`` and as many of the last as there is room for."""
    first, *words = base.split("_")
    start = f"{first}{ELLIPSIS}"
    while len(start) + sum(len(word) + 1 for word in words) > room and len(words) > 1:
        del words[0]
    return f"{start}_{'_'.join(words)}"
