"""Parser of C++ names as in the source.

Names are untrusted: each character is read once, depth and length are bounded, and text that does
not fit the grammar is skipped.
"""

from __future__ import annotations

import re
import string

from msgspec import Struct, field

MAX_CHARS = 1 << 13
"""Only this many characters of a name are read."""

MAX_DEPTH = 40
"""Deeper brackets are skipped."""

ANONYMOUS = frozenset(("(anonymous namespace)", "(unnamed)", "{anonymous}", "<unnamed>"))
LAMBDA = frozenset(("{lambda(", "[lambda("))
TOKEN = re.compile(
    r"\(anonymous namespace\)|\(unnamed\)|\{anonymous\}|<unnamed>|[{\[]lambda\("
    r"|operator *(?:\(\)|\[\]|->\*|<=>|<<=|>>=|<<|>>|<=|>=|->|<|>|[-+*/%^&|~!=]=?|&&|\|\|)"
    r"|~?[^\W\d][\w$]*|-?\d[\w.]*|::|->|&&|\s+|.",
    re.DOTALL,
)
CALL = "operator()"
CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
LETTERS = frozenset(string.ascii_letters + string.digits + "_~$")
BRACKETS = frozenset(")]}")
DECORATIONS = frozenset(("const", "volatile", "__restrict__", "restrict"))


class CppNamePart(Struct):
    """One part of a name between two ``::``.

    Attributes:
        text: An identifier, ``operator()``, ``{lambda}`` or a number.
        arguments: Template arguments; None for none.
        parameters: Parameters of the function or lambda; None for none.
        number: Number of a lambda: ``2``.
    """

    text: str
    arguments: list[ParsedName] | None = None
    parameters: list[ParsedName] | None = None
    number: str = ""


class ParsedName(Struct):
    """A function, type or value.

    Attributes:
        parts: The parts between ``::``.
        before: Words before it: ``unsigned``, a return type, the type of a cast.
        behind: ``*`` and ``&``.
    """

    parts: list[CppNamePart] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    behind: str = ""


class KernelNameReader:
    """Reads one name; parameters of functions only if ``parameters`` is set."""

    def __init__(self, text: str, *, parameters: bool = False) -> None:
        self._tokens = [word for word in TOKEN.findall(text[:MAX_CHARS]) if word > " "]
        self._parameters = parameters
        self._at = 0
        self._open: list[str] = []

    def function(self) -> ParsedName:
        """The whole text as one name."""
        return self._name()

    def _name(self) -> ParsedName:
        """A name up to a comma, a bracket that closes an open one, or the end."""
        name, tokens = ParsedName(), self._tokens
        is_open = bool(self._open)
        closing = self._open[-1] if is_open else ""
        joined = False  # whether the next word continues the path
        while self._at < len(tokens):
            token = tokens[self._at]
            if is_open and token in (",", closing):
                break
            if token in BRACKETS and token in self._open:
                break
            self._at += 1
            if token[0] in LETTERS and token[:8] != "operator":
                if token not in DECORATIONS:
                    self._word(name, CppNamePart(token), joined)
                    joined = False
            elif token == "::":
                joined = True
            elif token in ("*", "&", "&&"):
                name.behind += token
            elif token in CLOSING:
                self._bracket(name, token, joined)
            elif token in LAMBDA:
                self._word(name, self._lambda(token), joined)
                joined = False
            elif is_word(token):
                self._word(
                    name,
                    CppNamePart(
                        CALL if token.startswith("operator") and token.endswith("()") else token
                    ),
                    joined,
                )
                joined = False
        return name

    def _word(self, name: ParsedName, part: CppNamePart, joined: bool) -> None:
        if joined or not name.parts:
            name.parts.append(part)
        else:
            name.before.append(name.parts[-1].text)
            name.parts = [part]

    def _bracket(self, name: ParsedName, token: str, joined: bool) -> None:
        if token == "<":
            before = self._tokens[self._at - 2] if self._at > 1 else ""
            if name.parts and not joined and is_word(before) and not is_number(before):
                name.parts[-1].arguments = self._list(">")
            return
        if token == "(" and name.parts and not joined and not self._parameters:
            self._skip(token)
            return
        inner = self._list(CLOSING[token])
        if token != "(":
            return
        if name.parts and not joined:
            if name.parts[-1].parameters is None:
                name.parts[-1].parameters = inner
        elif inner and inner[0].parts:
            name.before.append(inner[0].parts[-1].text)  # a cast, or a value in brackets

    def _lambda(self, token: str) -> CppNamePart:
        part = CppNamePart("{lambda}", None, self._list(")"))
        start = self._at
        self._skip(token[0])
        behind = self._tokens[start : self._at]
        part.number = next(filter(is_number, behind), "")
        return part

    def _list(self, closing: str) -> list[ParsedName]:
        """Names separated by commas, up to and including ``closing``; an outer closing bracket ends
        the list before it."""
        if len(self._open) >= MAX_DEPTH:
            self._skip(next(key for key, value in CLOSING.items() if value == closing))
            return []
        names: list[ParsedName] = []
        self._open.append(closing)
        while self._at < len(self._tokens):
            name = self._name()
            if name.parts or name.before or name.behind:
                names.append(name)
            if self._at < len(self._tokens) and self._tokens[self._at] not in (",", closing):
                break
            self._at += 1
            if self._at > len(self._tokens) or self._tokens[self._at - 1] == closing:
                break
        self._open.pop()
        return names

    def _skip(self, opening: str) -> None:
        """Skip past the bracket that closes ``opening``."""
        depth, closing = 1, CLOSING[opening]
        while self._at < len(self._tokens) and depth:
            token = self._tokens[self._at]
            opens = token == opening or (token in LAMBDA and opening in token)
            depth += opens - (token == closing)
            self._at += 1


def is_word(token: str) -> bool:
    """Whether a token is an identifier, a number or an anonymous namespace."""
    return token[:1].isalnum() or token[0] in "_~$" or is_number(token) or token in ANONYMOUS


def is_number(token: str) -> bool:
    """Whether a token is a number."""
    return token[:1].isdigit() or (token[:1] == "-" and token[1:2].isdigit())
