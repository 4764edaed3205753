"""What tells names apart whose short forms are equal."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from itertools import count

from torch_tb_profiler.knowledge.kernel_names.plain import ELLIPSIS, READABLE_CHARS
from torch_tb_profiler.knowledge.kernel_names.reading import Name, NameReader

MAX_SLOTS = 300
"""Places of a name at which it is compared with others."""

MAX_GROUP = 400
"""So many names of equal form are compared; more are told apart by their content's hash."""

MAX_VALUES = 4
MAX_VALUE_CHARS = 20
MIN_HEAD = 16
HASH_CHARS = 6
WORDS = re.compile(r"[_\W]+")
LETTERS = re.compile(r"[A-Za-z]*")

Slots = dict[str, str]
"""Place in a name → what stands there."""


def told_apart(bases: dict[str, str], texts: Callable[[str], str]) -> dict[str, str]:
    """The short forms, none like another.

    Args:
        bases: Name → its short form, looked at alone.
        texts: The text of a name that is compared with others: demangled.
    """
    shorts: dict[str, str] = {}
    for head, names in _groups(bases).items():
        values = [()] if len(names) == 1 else _different([slots(texts(name)) for name in names])
        for name, differing in zip(names, values, strict=True):
            shorts[name] = _with_values(bases[name] if len(names) == 1 else head, differing)
    for chars in _hash_lengths():
        again = [names for names in _groups(shorts).values() if len(names) > 1]
        if not again:
            break
        for name in (name for names in again for name in names):
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:chars]
            shorts[name] = _with_mark(bases[name], f"#{digest}")
    return shorts


def slots(text: str) -> Slots:
    """What stands where in a name: words of a plain one; of C++ template arguments, then
    parameters."""
    found: Slots = {}
    if "<" in text or "(" in text:
        _walk(NameReader(text).function(), "", found)
    else:
        _add_words(text, "", found)
    return found


def _walk(name: Name, place: str, found: Slots) -> None:
    """Places count from the last part on, for namespaces come and go."""
    if len(found) >= MAX_SLOTS:
        return
    for number, part in enumerate(reversed(name.parts)):
        here = f"{place}.{number}"
        for at, argument in enumerate(part.arguments or []):
            _walk(argument, f"{here}<{at}", found)
        words = " ".join([*name.before, part.text]) if not number else part.text
        if part.number:
            found[here] = f"#{part.number}"
        elif len(words) > MAX_VALUE_CHARS:
            _add_words(words, here, found)
        else:
            found[here] = words
    if name.behind:
        found[f"{place}*"] = name.behind
    for number, part in enumerate(reversed(name.parts)):
        for at, parameter in enumerate(part.parameters or []):
            _walk(parameter, f"{place}.{number}({at}", found)


def _add_words(text: str, place: str, found: Slots) -> None:
    """The words of an identifier, by their letters: ``MT`` of ``MT128x64x32``."""
    ordinals: dict[str, int] = {}
    for word in WORDS.split(text)[:MAX_SLOTS]:
        letters = LETTERS.match(word)
        key = letters.group() if letters else ""
        ordinals[key] = ordinals.get(key, 0) + 1
        found[f"{place} {key} {ordinals[key]}"] = word


def _groups(shorts: dict[str, str]) -> dict[str, list[str]]:
    """Names by what a reader sees of their form; the order is that of the names."""
    groups: dict[str, list[str]] = {}
    for name in sorted(shorts):
        groups.setdefault(shorts[name][:READABLE_CHARS], []).append(name)
    return groups


def _different(group: list[Slots]) -> list[tuple[str, ...]]:
    """Of each name what is needed to tell it from the others of the group."""
    values: list[tuple[str, ...]] = [()] * len(group)
    if len(group) > MAX_GROUP:
        return values
    keys = dict.fromkeys(key for slots in group for key in slots)
    waiting = [list(range(len(group)))]
    while waiting:
        rows = waiting.pop()
        best: list[str] = []
        for key in keys:
            texts = [group[row].get(key, "") for row in rows]
            if len(set(texts)) > max(1, len(set(best))):
                best = texts
        if not best or len(values[rows[0]]) >= MAX_VALUES:
            continue
        parts: dict[str, list[int]] = {}
        for row, text in zip(rows, best, strict=True):
            values[row] += (text,)
            parts.setdefault(text, []).append(row)
        waiting += [part for part in parts.values() if len(part) > 1]
    return values


def _with_values(base: str, values: Iterable[str]) -> str:
    texts = [value[:MAX_VALUE_CHARS] for value in values if value]
    return _with_mark(base, f"[{', '.join(texts)}]") if texts else base


def _with_mark(base: str, mark: str) -> str:
    """``base`` and ``mark``, in what a reader sees if there is room for enough of both."""
    room = max(MIN_HEAD, READABLE_CHARS - len(mark) - 1)
    head = base if len(base) <= room else base[: room - 1].rstrip("_ ,<") + ELLIPSIS
    return f"{head} {mark}"


def _hash_lengths() -> Iterable[int]:
    return (min(64, HASH_CHARS * 2**times) for times in count())
