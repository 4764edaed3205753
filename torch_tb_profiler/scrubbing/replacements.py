"""What private texts become: ``host-1``, ``host-2``; the same everywhere in one copy."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections import defaultdict

from torch_tb_profiler.knowledge.scrubbing import (
    HOST,
    NAME,
    PATH,
    is_source_file,
    kind_title,
    path_rest,
)
from torch_tb_profiler.scrubbing.result import RemovedTexts

HASH_CHARS = 8
_WITH_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_NUMBERS = re.compile(r"\d+")
_NO_DIGITS = str.maketrans("0123456789abcdef", "ghijklmnopabcdef")
_SLASHES = str.maketrans("\\", "/")


class Replacements:
    """The texts that stand for private ones, in order of their first occurrence.

    Args:
        salt: Key of the hashes; None for a random one, so that nobody can check a guess.
    """

    def __init__(self, salt: str | None = None) -> None:
        self._key = os.urandom(16) if salt is None else salt.encode()
        self._texts: dict[str, dict[str, str]] = {}
        self._examples: dict[str, str] = {}
        self._folders: dict[str, dict[str, str]] = {}
        self._folder_count = 0
        self._families: dict[str, dict[str, tuple[int, set[str]]]] = defaultdict(dict)
        self._domains: dict[str, int] = {}

    def replacement(self, kind: str, text: str, field: str) -> str:
        """What stands for a text.

        Args:
            kind: A key of ``[kinds]`` in ``scrubbing.toml``.
            text: The private text.
            field: Where it is, for the list of what was removed.
        """
        known = self._texts.setdefault(kind, {})
        result = known.get(text)
        if result is None:
            result = known[text] = self._new(kind, text)
            self._set_example(kind, text, field)
        return result

    def _new(self, kind: str, text: str) -> str:
        """A text that stands for no other one; of a host with its domain that of the host alone
        with another domain."""
        if kind == PATH:
            return self._shortened(text)
        if kind == HOST and _WITH_DOMAIN.fullmatch(text):
            host, _, domain = text.partition(".")
            order = self._domains.setdefault(domain.lower(), len(self._domains))
            return f"{self.replacement(kind, host, '')}.domain-{_letters(order)}"
        return self._token(kind, text)

    def _token(self, kind: str, text: str) -> str:
        """Letters for what the text is without its numbers, and a number where it has some: views
        take names that differ in numbers only together, as they did before."""
        members = self._families[kind]
        family = _NUMBERS.sub("*", text)
        members.setdefault(family, (len(members), set()))
        order, texts = members[family]
        texts.add(text)
        if family == text:
            return f"{kind}-{_letters(order)}"
        return f"{kind}-{_letters(order) if order else ''}{len(texts)}"

    def remove(self, kind: str, text: str, field: str) -> None:
        """Count a text that nothing stands for."""
        known = self._texts.setdefault(kind, {})
        if text not in known:
            known[text] = ""
            self._set_example(kind, text, field)

    def hashed(self, word: str) -> str:
        """A word in the place of another one: equal for equal words under one salt."""
        result = f"x{self._digest(word)}"
        known = self._texts.setdefault(NAME, {})
        if word not in known:
            known[word] = result
            self._set_example(NAME, word, "names")
        return result

    def _digest(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return digest.hexdigest()[:HASH_CHARS].translate(_NO_DIGITS)

    def _set_example(self, kind: str, text: str, field: str) -> None:
        if kind not in self._examples:
            form = f"{len(text)} characters, #{self._digest(text)}"
            self._examples[kind] = f"{field}: {form}" if field else form

    def _shortened(self, path: str) -> str:
        """A path below a folder that everybody has, or the name of a file of source code; a second
        one of that name in another folder gets one, as two files stay two."""
        rest = path_rest(path)
        if rest is not None:
            return rest
        plain = path.strip().translate(_SLASHES).rstrip("/")
        folder, _, base_name = plain.rpartition("/")
        if not is_source_file(base_name):
            return self._token(PATH, path)
        folders = self._folders.setdefault(base_name, {})
        if folder not in folders:
            folders[folder] = f"folder-{_letters(self._folder_count)}/" if folders else ""
            self._folder_count += len(folders) > 1
        return folders[folder] + base_name

    def removed(self) -> list[RemovedTexts]:
        """What was removed, by kind."""
        return [
            RemovedTexts(kind, kind_title(kind), len(texts), self._examples[kind])
            for kind, texts in sorted(self._texts.items())
        ]


def _letters(order: int) -> str:
    """Letters that sort as numbers do: a to y, za to zy, zza …"""
    return "z" * (order // 25) + chr(ord("a") + order % 25)
