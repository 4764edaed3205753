"""Regular expressions of rules that are compiled only for texts that they may match.

Compiling the hundred and fifty expressions of kernels and operators took a tenth of the time of a
small report, whose names match a dozen of them. Most state texts that every match contains
(``_ffma_``; ``RadixSort`` or ``merge_sort``): a text without them needs no expression. Which these
are is kept with the rules (``files.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

Texts = tuple[str, ...]
"""A match contains at least one of them."""

Needs = tuple[tuple[Texts, ...], ...]
"""For each alternative of an expression all that its matches contain, the longest texts first."""

_TOKEN = re.compile(
    r"(?:[^\\()\[\]{}|*+?.^$]|\\\W)+"  # text
    r"|\(\?<?[=!]|\((?:\?:|(?!\?))|[)|]"  # what looks around; groups; alternatives
    r"|[*+?]\??|\{[0-9,]+\}\??"  # repetitions
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]|\\\w|[.^$]",  # one of several characters; places
    re.DOTALL,
)
"""The syntax of the rules: no flags, named groups or references."""

_SYNTAX = "*+?{[.^$(|)"

MAX_RUNS = 16
"""Texts that are followed on where one of several characters may stand."""

_WORD = re.compile(r"\w")
_CHOICE = re.compile(r"\[([A-Za-z0-9_]{1,3})\]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class RulePattern:
    """A regular expression, compiled for the first text that it may match.

    Args:
        pattern: The expression.
        needs: Its :func:`needed_texts`.
    """

    def __init__(self, pattern: str, needs: Needs | None) -> None:
        self.pattern = pattern
        self._needs = needs
        self._texts = [text for alternative in needs or () for text in alternative[0]]

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
        if self._needs is None:
            return True
        contains = text.__contains__
        return any(map(contains, self._texts)) and any(
            all(any(map(contains, texts)) for texts in alternative) for alternative in self._needs
        )


def needed_texts(pattern: str) -> Needs | None:
    """Texts that every match of a regular expression contains; None if there is an alternative
    without any, or if it uses more of the syntax than the rules do."""
    tokens = _TOKEN.findall(pattern)
    if "".join(tokens) != pattern:
        return None
    alternatives = _alternatives(iter([*tokens, ")"]))
    return tuple(map(tuple, alternatives)) if all(alternatives) else None


def _alternatives(tokens: Iterator[str]) -> list[list[Texts]]:
    """Of each of the alternatives up to the end of their group what a match contains of it, the
    longest texts first; of groups in them one."""
    alternatives: list[list[Texts]] = [[]]
    group: Texts | None = None  # of the group before the token
    runs: Texts = ("",)  # the texts that may be before it
    shorter: Texts = ("",)  # without their last character
    for token in tokens:
        first = token[0]
        choice = _CHOICE.fullmatch(token)
        if choice and len(runs) * len(choice[1]) > MAX_RUNS:
            choice = None
        if choice or (first not in _SYNTAX and not (first == "\\" and _WORD.match(token, 1))):
            if group:
                alternatives[-1].append(group)
                group = None
            before = runs
            if choice:
                shorter = before
                runs = tuple(run + character for run in before for character in choice[1])
            else:
                text = _ESCAPED.sub(r"\1", token)
                shorter = tuple(run + text[:-1] for run in before)
                runs = tuple(run + text for run in before)
            continue
        if first in "*?{":  # what is before it may be missing
            group, runs = None, shorter
        alternatives[-1] += [texts for texts in (group, runs) if texts and all(texts)]
        group, runs, shorter = None, ("",), ("",)
        if first == "(":
            inside = _alternatives(tokens)
            if token[-1] not in "=!" and all(inside):  # what is around is no part of the match
                group = tuple(dict.fromkeys(text for each in inside for text in each[0]))
        elif first in "|)":
            alternatives[-1].sort(key=lambda texts: -min(map(len, texts)))
            if first == ")":
                break
            alternatives.append([])
    return alternatives
