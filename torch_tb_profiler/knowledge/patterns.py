"""Regular expressions of rules that are compiled only for texts that they may match.

Compiling the hundred and fifty expressions of kernels and operators took a tenth of the time of a
small report, whose names match a dozen of them. Most state texts of which every match contains one
(``_ffma_``; ``RadixSort`` or ``merge_sort``): a text without any of them needs no expression. Which
these are is kept with the rules (``files.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

Texts = tuple[str, ...]

_TOKEN = re.compile(
    r"(?:[^\\()\[\]{}|*+?.^$]|\\\W)+"  # text
    r"|\(\?<?[=!]|\((?:\?:|(?!\?))|[)|]"  # what looks around; groups; alternatives
    r"|[*+?]\??|\{[0-9,]+\}\??"  # repetitions
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]|\\\w|[.^$]",  # one of several characters; places
    re.DOTALL,
)
"""The syntax of the rules: no flags, named groups or references."""

_WORD = re.compile(r"\w")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class RulePattern:
    """A regular expression, compiled for the first text that it may match.

    Args:
        pattern: The expression.
        needed: Its :func:`needed_texts`.
    """

    def __init__(self, pattern: str, needed: Texts | None) -> None:
        self.pattern = pattern
        self._needed = needed

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.pattern)

    def search(self, text: str) -> re.Match[str] | None:
        """As :meth:`re.Pattern.search`."""
        return self.compiled.search(text) if self._may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As :meth:`re.Pattern.fullmatch`."""
        return self.compiled.fullmatch(text) if self._may_match(text) else None

    def _may_match(self, text: str) -> bool:
        return self._needed is None or any(map(text.__contains__, self._needed))


def needed_texts(pattern: str) -> Texts | None:
    """Texts of which every match of a regular expression contains at least one; None if there are
    none, or if it uses more of the syntax than the rules do."""
    tokens = _TOKEN.findall(pattern)
    return _of_alternatives(iter([*tokens, ")"])) if "".join(tokens) == pattern else None


def _of_alternatives(tokens: Iterator[str]) -> Texts | None:
    """Of the alternatives up to the end of their group: the texts of all, if each has some."""
    texts: list[str] = []
    is_in_all = True
    best: Texts | None = None  # of this alternative
    group: Texts | None = None  # of the group before the token
    run = ""  # the text before it
    for token in tokens:
        first = token[0]
        if first in "*?{":  # what is before it may be missing
            group, run = None, run[:-1]
        best = _longer(_longer(best, group), (run,) if run else None)
        group, run = None, ""
        if first == "(":
            group = _of_alternatives(tokens)
            if token[-1] in "=!":  # not part of the match
                group = None
        elif first in "|)":
            texts += best or ()
            is_in_all = is_in_all and best is not None
            best = None
            if first == ")":
                break
        elif first not in "*+?{[.^$" and not (first == "\\" and _WORD.match(token, 1)):
            run = _ESCAPED.sub(r"\1", token)
    return tuple(dict.fromkeys(texts)) if is_in_all else None


def _longer(one: Texts | None, other: Texts | None) -> Texts | None:
    """The texts whose shortest is longer; those that there are."""
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda texts: min(map(len, texts)))
